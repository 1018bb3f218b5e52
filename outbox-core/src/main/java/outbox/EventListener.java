package outbox;

/**
 * Receives events. Each (aggregate type, event type) pair has exactly one listener; what concerns every event belongs into an {@link outbox.dispatch.EventInterceptor}.
 *
 * <p>A listener runs on a worker thread, outside any transaction of the outbox and without holding one of its connections. Returning normally means delivered. Anything
 * thrown, an {@link Error} included, is a failed attempt. Delivery is at least once: a crash between the return and its mark repeats the event, so the effect should be
 * idempotent by {@link EventEnvelope#eventId()}. A listener that runs past the dispatcher's time limit, or whose lease was lost, is interrupted.
 */
@FunctionalInterface
public interface EventListener {

    void onEvent(EventEnvelope event) throws Exception;
}
