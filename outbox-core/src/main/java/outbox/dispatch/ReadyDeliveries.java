package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;

import java.util.ArrayDeque;

/**
 * Deliveries that a worker may take. Larger priorities come first, and within one priority the order of arrival.
 * Every fourth delivery is taken by arrival alone. So a delivery waits for at most four times the number of
 * deliveries that were there before it, no matter what arrives later. Guarded by the lock of the queues.
 */
final class ReadyDeliveries {

    private static final int SHARE_BY_AGE = 4;

    private final ArrayDeque<Delivery> plain = new ArrayDeque<>();
    private final @Nullable ArrayDeque<Delivery>[] urgent = newLevels(); // by priority; level 0 is not used
    private int urgentCount;
    private long arrivals;
    private int turn;

    @SuppressWarnings({"unchecked", "rawtypes"}) // Java has no arrays of generic types
    private static @Nullable ArrayDeque<Delivery>[] newLevels() {
        return new ArrayDeque[EventEnvelope.MAX_PRIORITY + 1];
    }

    void add(Delivery delivery) {
        delivery.arrived(nextArrival());
        // other writers may exceed the maximum
        int priority = Math.min(delivery.envelope().priority(), EventEnvelope.MAX_PRIORITY);
        if (priority <= 0) {
            plain.add(delivery);
            return;
        }
        ArrayDeque<Delivery> level = urgent[priority];
        if (level == null) {
            level = new ArrayDeque<>();
            urgent[priority] = level;
        }
        level.add(delivery);
        urgentCount++;
    }

    @Nullable
    Delivery poll() {
        if (urgentCount == 0) {
            return plain.poll();
        }
        turn = (turn + 1) % SHARE_BY_AGE;
        ArrayDeque<Delivery> from = turn == 0 ? oldest() : mostUrgent();
        if (from != plain) {
            urgentCount--;
        }
        return from.poll();
    }

    /** Returns the position for a delivery that arrives now. */
    long nextArrival() {
        return arrivals++;
    }

    /** Returns the position of the delivery that has waited longest, or {@link Long#MAX_VALUE} if none waits. */
    long oldestArrival() {
        return arrivalOf(oldest());
    }

    boolean isEmpty() {
        return urgentCount == 0 && plain.isEmpty();
    }

    private ArrayDeque<Delivery> mostUrgent() {
        for (int priority = urgent.length - 1; priority > 0; priority--) {
            ArrayDeque<Delivery> level = urgent[priority];
            if (level != null && !level.isEmpty()) {
                return level;
            }
        }
        return plain;
    }

    private ArrayDeque<Delivery> oldest() {
        ArrayDeque<Delivery> oldest = plain;
        for (ArrayDeque<Delivery> level : urgent) {
            if (level != null && arrivalOf(level) < arrivalOf(oldest)) {
                oldest = level;
            }
        }
        return oldest;
    }

    private static long arrivalOf(ArrayDeque<Delivery> level) {
        Delivery first = level.peek();
        return first == null ? Long.MAX_VALUE : first.arrival();
    }
}
