package outbox.payload;

import outbox.EventEnvelope;
import outbox.EventHeaders;

import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * Records since when events with an unknown, newer payload version have been waiting on this node. The events do
 * not contain this time: an event may be delayed or describe an old fact, and an uncounted attempt is not
 * recorded in it. The size is bounded: while it is full, further events wait without a limit until earlier ones
 * have ended. Thread-safe.
 */
final class NewerEvents {

    static final int MAX_EVENTS = 10_000;

    /** Time for the last attempt of an event that has exceeded its limit. */
    private static final Duration GRACE = Duration.ofMinutes(10);

    private final Map<String, Long> since = new LinkedHashMap<>(); // oldest first; guarded by this
    private final long limitNanos;
    private final LongSupplier nanoClock;

    NewerEvents(Duration limit, LongSupplier nanoClock) {
        this.limitNanos = limit.toNanos();
        this.nanoClock = nanoClock;
    }

    /** Whether the event was first seen longer ago than the limit. A replayed event counts as a new one. */
    synchronized boolean hasWaitedTooLong(EventEnvelope event) {
        String wait = event.eventId() + ' ' + event.headers().getOrDefault(EventHeaders.REPLAY, "");
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
