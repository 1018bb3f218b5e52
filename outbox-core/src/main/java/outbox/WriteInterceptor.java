package outbox;

import org.jspecify.annotations.Nullable;

import java.util.Map;

/**
 * Code around every write, for what shall travel with an event, such as a trace. Called on the thread of the transaction, by several at once.
 *
 * <p>A write never fails for its interceptor: what that throws is logged, and so are headers that cannot be stored; the event is then written without them.
 */
public interface WriteInterceptor {

    /** Before the insert: headers to add to the event. One that the event has already stays as it is. */
    default Map<String, String> beforeWrite(EventEnvelope event) {
        return Map.of();
    }

    /**
     * After the insert; with a {@linkplain OutboxWriter#gathering() gathering} writer after the event was taken in memory. Whether the transaction commits is not known yet.
     *
     * @param event as {@link #beforeWrite} got it
     * @param error why it was not written, or null
     */
    default void afterWrite(EventEnvelope event, @Nullable Throwable error) {}
}
