package outbox.dispatch;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** Tracks in memory, with an optional time to live after which a stuck entry can be taken over. */
public final class DefaultInFlightTracker implements InFlightTracker {

    private final ConcurrentHashMap<String, Long> sinceNanos = new ConcurrentHashMap<>();
    private final long ttlNanos;

    /** Entries stay until they are released. */
    public DefaultInFlightTracker() {
        this.ttlNanos = Long.MAX_VALUE;
    }

    /** An entry older than the given time can be taken over; a dispatcher gives up its run, see {@link #hasExpired}. */
    public DefaultInFlightTracker(long ttlMs) {
        if (ttlMs <= 0) {
            throw new IllegalArgumentException("ttlMs must be positive: " + ttlMs);
        }
        this.ttlNanos = TimeUnit.MILLISECONDS.toNanos(ttlMs); // saturates
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
