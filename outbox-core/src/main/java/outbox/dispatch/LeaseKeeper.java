package outbox.dispatch;

import outbox.internal.Loop;
import outbox.internal.SqlErrors;
import outbox.internal.ThrottledLog;
import outbox.internal.text.SafeLogger;
import outbox.spi.Claim;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadFactory;

/**
 * Renews the leases of all events that a dispatcher holds, queued or running, and checks the time limits of
 * listeners. It has one thread. That thread stops last, so that no event loses its lease during a slow shutdown.
 */
final class LeaseKeeper {

    /** Receives the findings of the keeper. */
    interface Listener {
        /** Another node may have claimed the event. */
        void leaseLost(Delivery delivery);

        /**
         * The dispatcher no longer waits for this listener: the attempt has failed, and the event may
         * be delivered again.
         */
        void stuck(Delivery delivery, String why);

        void tick();
    }

    private static final Logger LOG = SafeLogger.of(LeaseKeeper.class);
    private static final Duration LONGEST_TICK = Duration.ofSeconds(1);
    private static final int MAX_PORTION = 1000;
    // number of refusals without a success after which single rows are not the cause
    private static final int MAX_SEARCH = 30;
    private static final Duration SHORTEST_TICK = Duration.ofMillis(10);

    /** How long an interrupted listener may take to end before its worker is replaced. Allows for a busy machine. */
    private static final Duration REACTION = Duration.ofSeconds(2);

    private final ClaimedStore store;
    private final InFlightDeliveries held;
    private final Duration shortestLimit;
    private final LeadershipFence term;
    private final Listener listener;
    private final ThrottledLog trouble = new ThrottledLog(LOG);
    private final Loop loop;
    private int refusals; // in this cycle, while no portion was renewed; keeper thread only
    private boolean renewedSome; // in this cycle; keeper thread only
    // 0 while renewals succeed; the keeper thread writes it, any thread reads it
    private volatile long failingSinceNanos;

    LeaseKeeper(
            ClaimedStore store,
            InFlightDeliveries held,
            Duration shortestLimit,
            LeadershipFence term,
            Listener listener,
            ThreadFactory threads) {
        this.store = store;
        this.held = held;
        this.shortestLimit = shortestLimit;
        this.term = term;
        this.listener = listener;
        this.loop = new Loop("lease keeper", threads, Loop.Step.every(() -> tick().toNanos(), this::cycle));
    }

    void start() {
        loop.start();
    }

    void stop() {
        loop.stop();
    }

    /** Starts the next cycle at once. */
    void wake() {
        loop.wake();
    }

    /** Returns false if no lease could be renewed for half a lease. Then no more events should be claimed. */
    boolean isHealthy() {
        long since = failingSinceNanos;
        return since == 0 || System.nanoTime() - since < store.lease().toNanos() / 2;
    }

    private void cycle() {
        watchTimeLimits();
        if (term.isLeader()) { // otherwise the events belong to the next leader
            renewLeases();
        }
        listener.tick();
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

    /** A delivery with the claim that it had when its renewal became due. */
    private record Due(Delivery delivery, Claim claim) {

        /** Whether neither a renewal nor the poller of this dispatcher has replaced the claim since. */
        boolean isCurrent() {
            return claim.equals(delivery.claim());
        }
    }

    /**
     * Renews with one statement per token for up to a thousand events. All hot events of this dispatcher share a
     * token. A portion that fails does not delay the others.
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

    /** Returns false if no lease of the portion could be renewed. */
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

    /**
     * Renews leases. An event whose row is locked by another transaction still belongs to this dispatcher, because
     * no other node can claim it either.
     */
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

    /** Ignores a delivery that has ended: the marker thread may have written its outcome just now. */
    private void lost(Delivery delivery) {
        if (delivery.state() != Delivery.State.ENDED) {
            listener.leaseLost(delivery);
        }
    }
}
