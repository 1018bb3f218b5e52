package outbox.dispatch;

import outbox.internal.QuietLog;
import outbox.spi.Claim;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

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

    private static final Logger LOG = System.getLogger(LeaseKeeper.class.getName());
    private static final Duration LONGEST_TICK = Duration.ofSeconds(1);
    private static final Duration SHORTEST_TICK = Duration.ofMillis(10);

    private final ClaimedStore store;
    private final HeldEvents held;
    private final Duration shortestLimit;
    private final Term term;
    private final Listener listener;
    private final QuietLog trouble = new QuietLog(LOG);
    private final Semaphore signals = new Semaphore(0);
    private volatile boolean stopped; // the closing thread writes
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
        Duration reaction = tick().multipliedBy(3);
        for (Delivery delivery : held.all()) {
            Duration time = delivery.listenerTime();
            Duration timeLimit = delivery.timeLimit();
            if (time.compareTo(timeLimit.plus(reaction)) > 0) {
                listener.stuck(
                        delivery,
                        "The listener ran longer than its time limit of " + timeLimit
                                + " and did not react to the interrupt");
            } else if (time.compareTo(timeLimit) > 0 && delivery.cancel(Delivery.Cancel.TIME_LIMIT)) {
                LOG.log(
                        Level.WARNING,
                        "The listener of event " + delivery.eventId() + " was interrupted after " + time
                                + "; its time limit is " + timeLimit);
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

    /** One statement per token: all hot events of this dispatcher share one. */
    private void renewLeases() {
        Duration soon = store.lease().multipliedBy(2).dividedBy(3);
        List<Due> due = new ArrayList<>();
        for (Delivery delivery : held.all()) {
            Claim claim = delivery.claim();
            if (claim != null && store.remaining(claim).compareTo(soon) < 0) {
                due.add(new Due(delivery, claim));
            }
        }
        try {
            due.stream()
                    .collect(Collectors.groupingBy(one -> one.claim().token()))
                    .forEach(this::renew);
            failingSinceNanos = 0;
        } catch (RuntimeException e) {
            if (failingSinceNanos == 0) {
                failingSinceNanos = System.nanoTime() | 1; // never 0
            }
            trouble.log(Level.ERROR, "Cannot renew leases; trying again", e);
            due.stream()
                    .filter(one -> one.isCurrent() && one.claim().remaining().isNegative())
                    .forEach(one -> lost(one.delivery()));
        }
    }

    private void renew(String token, List<Due> due) {
        Claim renewed = Claim.startingNow(token, store.lease());
        Set<String> ours = store.renew(
                token, due.stream().map(one -> one.delivery().eventId()).toList());
        for (Due one : due) {
            if (ours.contains(one.delivery().eventId())) {
                one.delivery().renewed(one.claim(), renewed);
            } else if (one.isCurrent()) {
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
