package outbox.dispatch;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What a dispatcher has of one aggregate: events that passed the order gate and are not marked yet, and events that wait behind another. Guarded by the gate's lock. */
final class OrderLane {

    /** Names an aggregate. */
    record Key(String aggregateType, @Nullable String aggregateId) {

        static Key of(Delivery delivery) {
            return new Key(
                    delivery.envelope().aggregateType(), delivery.envelope().aggregateId());
        }
    }

    /** A delivery that is not ready. */
    static final class Waiting {

        private final Delivery delivery;
        private final long sinceNanos = System.nanoTime();
        private long blocker; // number of the event before it
        private int asked;
        private long askNanos;

        Waiting(Delivery delivery) {
            this.delivery = delivery;
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

        boolean hasWaited(Duration patience) {
            return System.nanoTime() - sinceNanos > patience.toNanos();
        }

        /** Doubles the pause each time. */
        void askLater(Duration first, Duration longest) {
            Duration pause = shorter(first.multipliedBy(1L << Math.min(asked++, 20)), longest);
            askNanos = System.nanoTime() + pause.toNanos();
        }

        long askNanos() {
            return askNanos;
        }
    }

    private final TreeMap<Long, Waiting> waiting = new TreeMap<>(); // by number
    private final Map<Long, Delivery> passed =
            new HashMap<>(); // by number; one, unless the business does not serialise

    void add(Waiting one) {
        waiting.put(one.delivery.number(), one);
    }

    void pass(Delivery delivery) {
        passed.put(delivery.number(), delivery);
    }

    /** Takes the delivery out; answers it if it was waiting. */
    @Nullable
    Waiting leave(Delivery delivery) {
        passed.remove(delivery.number(), delivery);
        Waiting one = waiting.get(delivery.number());
        return one != null && one.delivery == delivery ? waiting.remove(delivery.number()) : null;
    }

    /** Takes out, in order, what waits for the event with this number. */
    List<Waiting> takeDirectlyBehind(long number) {
        List<Waiting> found = waiting.tailMap(number, false).values().stream()
                .filter(one -> one.blocker == number)
                .toList();
        found.forEach(one -> waiting.remove(one.delivery.number()));
        return new ArrayList<>(found);
    }

    /** Takes out, in order, everything that waits and comes after this number. */
    List<Waiting> takeBehind(long number) {
        Map<Long, Waiting> after = waiting.tailMap(number, false);
        List<Waiting> found = new ArrayList<>(after.values());
        after.clear();
        return found;
    }

    /** Whether the event with this number is in our hands. */
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
