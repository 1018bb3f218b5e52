package outbox.rabbitmq;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * How often events were requeued by this consumer. Bounded: the event that failed longest ago is forgotten, and
 * begins at zero. Any thread.
 */
final class RequeueCounts {

    static final int CAPACITY = 10_000;

    /** Guarded by itself; in order of the last failure. */
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
