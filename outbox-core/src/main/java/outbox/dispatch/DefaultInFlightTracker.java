package outbox.dispatch;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** Tracks events in memory, with an optional time to live after which a stuck entry can be taken over. */
public final class DefaultInFlightTracker implements InFlightTracker {

    private final ConcurrentHashMap<String, Long> sinceNanos = new ConcurrentHashMap<>();
    private final long ttlNanos;

    /** Creates a tracker whose entries stay until they are released. */
    public DefaultInFlightTracker() {
        this.ttlNanos = Long.MAX_VALUE;
    }

    /**
     * Creates a tracker whose entries can be taken over after the given time. A dispatcher then stops waiting for
     * the run, see {@link #hasExpired}.
     *
     * @param ttlMs 0 for no limit: entries stay until they are released
     */
    public DefaultInFlightTracker(long ttlMs) {
        if (ttlMs < 0) {
            throw new IllegalArgumentException("ttlMs must not be negative: " + ttlMs);
        }
        this.ttlNanos = ttlMs == 0 ? Long.MAX_VALUE : TimeUnit.MILLISECONDS.toNanos(ttlMs); // saturates
    }

    @Override
    public boolean tryAcquire(String eventId) {
        long now = System.nanoTime();
        Long since = sinceNanos.putIfAbsent(eventId, now);
        return since == null || now - since > ttlNanos && sinceNanos.replace(eventId, since, now);
    }

    @Override
    public boolean hasExpired(String eventId) {
        Long since = sinceNanos.get(eventId);
        return since != null && System.nanoTime() - since > ttlNanos;
    }

    @Override
    public void release(String eventId) {
        sinceNanos.remove(eventId);
    }
}
