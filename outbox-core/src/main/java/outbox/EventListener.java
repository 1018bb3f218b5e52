package outbox;

import org.jspecify.annotations.Nullable;

/**
 * Receives events. Each pair of aggregate type and event type has exactly one listener. Code that must run for every
 * event belongs in an {@link outbox.dispatch.EventInterceptor}.
 *
 * <p>A listener runs on a worker thread, outside any transaction of the outbox and without holding one of its
 * connections. A normal return means that the event was delivered. Anything thrown, including an {@link Error}, is a
 * failed attempt; {@link RetryLaterException} and {@link GiveUpException} give more control. Delivery is at least
 * once: if the process crashes after the return but before the event is marked, the event is delivered again. The
 * effect should therefore be idempotent by {@link EventEnvelope#eventId()}. A listener is interrupted if it exceeds
 * the time limit of the dispatcher or if its lease was lost.
 */
@FunctionalInterface
public interface EventListener {

    void onEvent(EventEnvelope event) throws Exception;

    /**
     * The name that rules, limits and pauses use for this listener. Override it for a listener that serves several
     * routes. With null, the default, the name is that of the route: {@code aggregateType:eventType}. Must be fast
     * and always return the same value.
     */
    default @Nullable String listenerName() {
        return null;
    }
}
