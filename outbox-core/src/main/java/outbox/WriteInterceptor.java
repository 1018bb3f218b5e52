package outbox;

import org.jspecify.annotations.Nullable;

import java.util.Map;

/**
 * Runs around every write, for example to add the trace context to an event. Called on the thread of the
 * transaction; several threads may call it at the same time.
 *
 * <p>An interceptor cannot make a write fail. Its exceptions are logged, and so are headers that cannot be stored.
 * The event is then written without these headers.
 */
public interface WriteInterceptor {

    /**
     * Called before the insert. Returns headers to add to the event. A header that the event already has is
     * not replaced.
     */
    default Map<String, String> beforeWrite(EventEnvelope event) {
        return Map.of();
    }

    /**
     * Called after the insert, or, with a {@linkplain OutboxWriter#gathering() gathering} writer, after the event
     * was added in memory. It is not yet known whether the transaction commits.
     *
     * @param event the event that was passed to {@link #beforeWrite}
     * @param error why the event was not written, or null
     */
    default void afterWrite(EventEnvelope event, @Nullable Throwable error) {}
}
