package outbox.dispatch;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The events of one aggregate that a dispatcher holds: events that passed the order gate and are not marked yet, and
 * events that wait behind another one. Guarded by the lock of the gate.
 */
final class OrderLane {

    /** Identifies an aggregate. */
    record Key(String aggregateType, @Nullable String aggregateId) {

        static Key of(Delivery delivery) {
            return new Key(
                    delivery.envelope().aggregateType(), delivery.envelope().aggregateId());
        }
    }

    /** A delivery that is not ready. */
    static final class Waiting {

        private final Delivery delivery;
        private final long sinceNanos;
        private long blocker; // sequence number of the event that it waits for
        private int asked;
        private long askNanos;

        Waiting(Delivery delivery, long nowNanos) {
            this.delivery = delivery;
            this.sinceNanos = nowNanos;
        }

        Delivery delivery() {
            return delivery;
        }

        long blocker() {
            return blocker;
        }

        Waiting behind(long number) {
            blocker = number;
            return this;
        }

        boolean hasWaited(Duration patience, long nowNanos) {
            return nowNanos - sinceNanos > patience.toNanos();
        }

        /** Sets the time of the next query. The pause doubles each time. */
        void askLater(Duration first, Duration longest, long nowNanos) {
            Duration pause = shorter(first.multipliedBy(1L << Math.min(asked++, 20)), longest);
            askNanos = nowNanos + pause.toNanos();
        }

        long askNanos() {
            return askNanos;
        }
    }

    private final TreeMap<Long, Waiting> waiting = new TreeMap<>(); // by number
    // by number; contains one event, unless business transactions of the aggregate are not serialised
    private final Map<Long, Delivery> passed = new HashMap<>();

    void add(Waiting one) {
        waiting.put(one.delivery.number(), one);
    }

    void pass(Delivery delivery) {
        passed.put(delivery.number(), delivery);
    }

    /** Removes the delivery. Returns it if it was waiting, otherwise null. */
    @Nullable
    Waiting leave(Delivery delivery) {
        passed.remove(delivery.number(), delivery);
        Waiting one = waiting.get(delivery.number());
        return one != null && one.delivery == delivery ? waiting.remove(delivery.number()) : null;
    }

    /** Removes and returns, in order, the events that wait for the event with this number. */
    List<Waiting> takeDirectlyBehind(long number) {
        List<Waiting> found = waiting.tailMap(number, false).values().stream()
                .filter(one -> one.blocker == number)
                .toList();
        found.forEach(one -> waiting.remove(one.delivery.number()));
        return new ArrayList<>(found);
    }

    /** Removes and returns, in order, all waiting events after this number. */
    List<Waiting> takeBehind(long number) {
        Map<Long, Waiting> after = waiting.tailMap(number, false);
        List<Waiting> found = new ArrayList<>(after.values());
        after.clear();
        return found;
    }

    /** Whether this dispatcher holds the event with this number. */
    boolean has(long number) {
        return passed.containsKey(number) || waiting.containsKey(number);
    }

    int waiting() {
        return waiting.size();
    }

    boolean isEmpty() {
        return waiting.isEmpty() && passed.isEmpty();
    }

    static Duration shorter(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other;
    }
}
