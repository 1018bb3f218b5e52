package outbox.payload;

import outbox.EventEnvelope;
import outbox.spi.Replay;

import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * Since when events wait whose version this node does not know. The events do not tell: one may be delayed, or about something long ago, and a try that is not counted leaves no trace in them. Bounded:
 * while it is full, more events wait without a limit, until those before have ended. Thread-safe.
 */
final class NewerEvents {

    static final int MAX_EVENTS = 10_000;

    private static final Duration GRACE =
            Duration.ofMinutes(10); // in which an event that is over comes for the last time

    private final Map<String, Long> since = new LinkedHashMap<>(); // guarded by this; the oldest first
    private final long limitNanos;
    private final LongSupplier nanoClock;

    NewerEvents(Duration limit, LongSupplier nanoClock) {
        this.limitNanos = limit.toNanos();
        this.nanoClock = nanoClock;
    }

    /** Whether it came for the first time longer ago than the limit; a replay makes it another event. */
    synchronized boolean hasWaitedTooLong(EventEnvelope event) {
        String wait = event.eventId() + ' ' + event.headers().getOrDefault(Replay.HEADER, "");
        long now = nanoClock.getAsLong();
        Long first = since.get(wait);
        if (first == null && hasRoom(now)) {
            since.put(wait, now);
        }
        return first != null && now - first >= limitNanos;
    }

    private boolean hasRoom(long now) {
        Iterator<Long> oldest = since.values().iterator();
        if (since.size() == MAX_EVENTS && now - oldest.next() > limitNanos + GRACE.toNanos()) {
            oldest.remove();
        }
        return since.size() < MAX_EVENTS;
    }
}
