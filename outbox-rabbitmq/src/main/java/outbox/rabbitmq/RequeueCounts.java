package outbox.rabbitmq;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The number of requeues per event by this consumer. Bounded: the event whose last failure is the oldest is removed
 * and starts again at zero. Thread-safe.
 */
final class RequeueCounts {

    static final int CAPACITY = 10_000;

    /** Guarded by itself; ordered by last access. */
    private final Map<String, Integer> counts = new LinkedHashMap<>(16, 0.75f, true) {

        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Integer> eldest) {
            return size() > CAPACITY;
        }
    };

    int of(String eventId) {
        synchronized (counts) {
            return counts.getOrDefault(eventId, 0);
        }
    }

    void increment(String eventId) {
        synchronized (counts) {
            counts.merge(eventId, 1, Integer::sum);
        }
    }

    void forget(String eventId) {
        synchronized (counts) {
            counts.remove(eventId);
        }
    }
}
