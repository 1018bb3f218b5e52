package outbox.internal;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;

import java.util.List;

/**
 * The event whose listener runs on this thread, or the events of one batch call. Events that the listener writes are
 * caused by them.
 */
public final class CurrentEvent {

    private static final ThreadLocal<@Nullable List<EventEnvelope>> CURRENT = new ThreadLocal<>();

    private CurrentEvent() {}

    public static void set(EventEnvelope event) {
        CURRENT.set(List.of(event));
    }

    /**
     * Sets the events of one call, or restores an earlier result of {@link #all}. An empty list clears the
     * current events.
     */
    public static void set(List<EventEnvelope> events) {
        if (events.isEmpty()) {
            CURRENT.remove();
        } else {
            CURRENT.set(events);
        }
    }

    public static void clear() {
        CURRENT.remove();
    }

    public static @Nullable EventEnvelope get() {
        List<EventEnvelope> events = CURRENT.get();
        return events == null ? null : events.get(0);
    }

    /** Returns an empty list if no listener runs on this thread. */
    public static List<EventEnvelope> all() {
        List<EventEnvelope> events = CURRENT.get();
        return events == null ? List.of() : events;
    }
}
