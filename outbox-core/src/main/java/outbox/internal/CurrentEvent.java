package outbox.internal;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;

import java.util.List;

/** The event whose listener runs on this thread, or the events of one call; what that listener writes is caused by them. */
public final class CurrentEvent {

    private static final ThreadLocal<@Nullable List<EventEnvelope>> CURRENT = new ThreadLocal<>();

    private CurrentEvent() {}

    public static void set(EventEnvelope event) {
        CURRENT.set(List.of(event));
    }

    /** Of one call, or what {@link #all} answered before; none is like {@link #clear}. */
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

    /** Empty if no listener runs on this thread. */
    public static List<EventEnvelope> all() {
        List<EventEnvelope> events = CURRENT.get();
        return events == null ? List.of() : events;
    }
}
