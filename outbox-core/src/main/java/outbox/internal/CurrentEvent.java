package outbox.internal;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;

/** The event whose listener runs on this thread; what that listener writes is caused by it. */
public final class CurrentEvent {

    private static final ThreadLocal<@Nullable EventEnvelope> CURRENT = new ThreadLocal<>();

    private CurrentEvent() {}

    public static void set(EventEnvelope event) {
        CURRENT.set(event);
    }

    public static void clear() {
        CURRENT.remove();
    }

    public static @Nullable EventEnvelope get() {
        return CURRENT.get();
    }
}
