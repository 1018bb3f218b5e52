package outbox;

import org.jspecify.annotations.Nullable;

/**
 * Receives events. Each (aggregate type, event type) pair has exactly one listener; what concerns every event belongs into an {@link outbox.dispatch.EventInterceptor}.
 *
 * <p>A listener runs on a worker thread, outside any transaction of the outbox and without holding one of its connections. Returning normally means delivered. Anything
 * thrown, an {@link Error} included, is a failed attempt; {@link RetryLaterException} and {@link GiveUpException} say more. Delivery is at least once: a crash between the return and its mark repeats the event, so the effect should be
 * idempotent by {@link EventEnvelope#eventId()}. A listener that runs past the dispatcher's time limit, or whose lease was lost, is interrupted.
 */
@FunctionalInterface
public interface EventListener {

    void onEvent(EventEnvelope event) throws Exception;

    /**
     * The name under which rules, limits and pauses know this listener, for one that serves several routes; null, the default, leaves it the name of the route:
     * {@code aggregateType:eventType}. Always the same, and quick.
     */
    default @Nullable String listenerName() {
        return null;
    }
}
