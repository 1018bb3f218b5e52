package outbox.dispatch;

import outbox.internal.QuietLog;
import outbox.internal.SqlErrors;
import outbox.spi.Claim;
import outbox.spi.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Keeps the leases of everything a dispatcher holds, queued or running, and watches the time limit of listeners. One thread; it is the last to stop, so that nothing loses its
 * lease during a slow shutdown.
 */
final class LeaseKeeper implements Runnable {

    /** Told what the keeper found out about a delivery. */
    interface Listener {
        /** Another node may have the event by now. */
        void leaseLost(Delivery delivery);

        /** A listener is not waited for any longer: its attempt has failed, and its event may be delivered again. */
        void stuck(Delivery delivery, String why);

        void tick();
    }

    private static final Logger LOG = SafeLogger.of(LeaseKeeper.class);
    private static final Duration LONGEST_TICK = Duration.ofSeconds(1);
    private static final int MAX_PORTION = 1000;
    private static final int MAX_SEARCH = 30; // refusals without a success: then it is not about single rows
    private static final Duration SHORTEST_TICK = Duration.ofMillis(10);

    /**
     * How long a listener that was interrupted may take to end, on a busy machine too, before its worker is replaced.
     */
    private static final Duration REACTION = Duration.ofSeconds(2);

    private final ClaimedStore store;
    private final HeldEvents held;
    private final Duration shortestLimit;
    private final Term term;
    private final Listener listener;
    private final QuietLog trouble = new QuietLog(LOG);
    private final Semaphore signals = new Semaphore(0);
    private volatile boolean stopped; // the closing thread writes
    private int refusals; // of this cycle, as long as no portion was renewed; keeper only
    private boolean renewedSome; // in this cycle; keeper only
    private volatile long failingSinceNanos; // keeper writes; 0 while renewals succeed

    LeaseKeeper(ClaimedStore store, HeldEvents held, Duration shortestLimit, Term term, Listener listener) {
        this.store = store;
        this.held = held;
        this.shortestLimit = shortestLimit;
        this.term = term;
        this.listener = listener;
    }

    void stop() {
        stopped = true;
        wake();
    }

    /** Makes the next cycle come at once. */
    void wake() {
        signals.release();
    }

    /** False when leases could not be renewed for half their length: then nothing more should be claimed. */
    boolean isHealthy() {
        long since = failingSinceNanos;
        return since == 0 || System.nanoTime() - since < store.lease().toNanos() / 2;
    }

    @Override
    public void run() {
        while (!isStopped()) {
            cycle();
        }
    }

    private boolean isStopped() {
        try {
            if (signals.tryAcquire(tick().toNanos(), TimeUnit.NANOSECONDS)) {
                signals.drainPermits();
            }
        } catch (InterruptedException e) { // left behind by a metrics exporter, say; the keeper ends by stop
            LOG.log(Level.DEBUG, "Interrupt ignored", e);
        }
        return stopped;
    }

    private void cycle() {
        try {
            watchTimeLimits();
            if (term.isLeader()) { // else the events are the next leader's
                renewLeases();
            }
            listener.tick();
        } catch (RuntimeException | Error e) {
            trouble.log(Level.ERROR, "The lease keeper failed; it goes on", e);
        }
    }

    private Duration tick() {
        Duration tick = shorter(store.lease(), shortestLimit).dividedBy(10);
        return tick.compareTo(SHORTEST_TICK) < 0 ? SHORTEST_TICK : shorter(tick, LONGEST_TICK);
    }

    private static Duration shorter(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other;
    }

    private void watchTimeLimits() {
        for (Delivery delivery : held.all()) {
            Duration time = delivery.listenerTime();
            Duration timeLimit = delivery.timeLimit();
            if (time.compareTo(timeLimit) > 0 && delivery.cancel(Delivery.Cancel.TIME_LIMIT)) {
                LOG.log(
                        Level.WARNING,
                        "The listener of event " + delivery.eventId() + " was interrupted after " + time
                                + "; its time limit is " + timeLimit);
            } else if (time.compareTo(timeLimit) > 0 && delivery.cancelledFor().compareTo(REACTION) > 0) {
                listener.stuck(
                        delivery,
                        "The listener ran longer than its time limit of " + timeLimit
                                + " and did not react to the interrupt");
            } else if (!time.isZero() && held.hasExpired(delivery)) {
                delivery.cancel(Delivery.Cancel.TIME_LIMIT);
                listener.stuck(delivery, "The event was in flight longer than the in-flight tracker allows");
            }
        }
    }

    /** A delivery with the claim that it had when it was found due for renewal. */
    private record Due(Delivery delivery, Claim claim) {

        /** Whether nobody has replaced the claim since: neither a renewal nor our own poller. */
        boolean isCurrent() {
            return claim.equals(delivery.claim());
        }
    }

    /**
     * One statement per token, for up to a thousand: all hot events of this dispatcher share one. A portion that fails
     * delays no other.
     */
    private void renewLeases() {
        Duration soon = store.lease().multipliedBy(2).dividedBy(3);
        Map<String, List<Due>> byToken = new LinkedHashMap<>();
        for (Delivery delivery : held.all()) {
            Claim claim = delivery.claim();
            if (claim != null && store.remaining(claim).compareTo(soon) < 0) {
                byToken.computeIfAbsent(claim.token(), token -> new ArrayList<>())
                        .add(new Due(delivery, claim));
            }
        }
        refusals = 0;
        renewedSome = false;
        int portions = 0;
        int failed = 0;
        for (List<Due> due : byToken.values()) {
            for (int start = 0; start < due.size(); start += MAX_PORTION) {
                List<Due> portion = due.subList(start, Math.min(due.size(), start + MAX_PORTION));
                portions++;
                failed += renewPortion(portion) ? 0 : 1;
            }
        }
        if (failed < portions || portions == 0) {
            failingSinceNanos = 0;
        } else if (failingSinceNanos == 0) {
            failingSinceNanos = System.nanoTime() | 1; // never 0
        }
    }

    /** False if no lease of the portion could be renewed. */
    private boolean renewPortion(List<Due> portion) {
        try {
            try {
                renew(portion, false);
            } catch (RuntimeException e) {
                if (!SqlErrors.isLocked(e)) {
                    throw e;
                }
                renew(portion, true);
            }
            renewedSome = true;
            return true;
        } catch (RuntimeException e) {
            boolean aboutOne = SqlErrors.isRefusal(e) && (renewedSome || ++refusals <= MAX_SEARCH);
            if (portion.size() > 1 && aboutOne) {
                int half = portion.size() / 2;
                boolean first = renewPortion(portion.subList(0, half));
                boolean second = renewPortion(portion.subList(half, portion.size()));
                return first || second;
            }
            trouble.log(Level.ERROR, "Cannot renew " + portion.size() + " leases; trying again", e);
            portion.stream()
                    .filter(one ->
                            one.isCurrent() && store.remaining(one.claim()).isNegative())
                    .forEach(one -> lost(one.delivery()));
            return false;
        }
    }

    /** Whose row is locked by a stranger, is still ours: nobody else can claim it either. */
    private void renew(List<Due> due, boolean passLocked) {
        String token = due.get(0).claim().token();
        Claim renewed = Claim.startingNow(token, store.lease());
        ClaimedStore.Written written = store.renew(
                token, due.stream().map(one -> one.delivery().eventId()).toList(), passLocked);
        for (Due one : due) {
            String eventId = one.delivery().eventId();
            if (written.ours().contains(eventId)) {
                one.delivery().renewed(one.claim(), renewed);
            } else if (!written.locked().contains(eventId) && one.isCurrent()) {
                lost(one.delivery());
            }
        }
    }

    /** A settled delivery is left to the marker, which may just have written its outcome. */
    private void lost(Delivery delivery) {
        if (delivery.state() != Delivery.State.SETTLED) {
            listener.leaseLost(delivery);
        }
    }
}
