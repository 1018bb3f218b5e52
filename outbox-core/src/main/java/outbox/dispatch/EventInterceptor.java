package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;

import java.util.List;
import java.util.Map;

/**
 * Code around every delivery, for audit, logging and metrics. Worker threads call it concurrently. After an
 * asynchronous listener, the thread that completes its stage calls it.
 */
public interface EventInterceptor {

    /**
     * Called before the listener, in the order of registration. If it throws, the attempt has failed: neither later
     * interceptors nor the listener are called.
     */
    default void beforeDispatch(EventEnvelope event) throws Exception {}

    /**
     * Like {@link #beforeDispatch(EventEnvelope)}, with the number of the attempt, counted from 1. The dispatcher
     * calls this method. The default calls the method without the number.
     */
    default void beforeDispatch(EventEnvelope event, int attempt) throws Exception {
        beforeDispatch(event);
    }

    /**
     * Called right before the listener, on the thread that calls it. Use it for thread-bound state, such as the
     * current trace. The returned object is closed on the same thread as soon as the call returns. For an
     * asynchronous listener that is before its stage completes. If this method throws, the attempt has failed. An
     * exception of the close is logged and changes nothing.
     *
     * @param events the events of the call: one, unless the listener takes batches
     * @return the object to close, or null, the default
     */
    default @Nullable AutoCloseable enterListener(List<EventEnvelope> events) throws Exception {
        return null;
    }

    /**
     * Called after the listener, in reverse order. Also called when the event could not be routed or an interceptor
     * refused it. If it throws, the exception is logged and changes nothing.
     *
     * @param error why the attempt failed, or null; an {@link Error} is passed as the cause
     *     of a {@link ListenerErrorException}
     */
    default void afterDispatch(EventEnvelope event, @Nullable Exception error) {}

    /**
     * Called right before the library logs a failed attempt, on the thread that writes the log line. Use it for
     * fields of that line, such as those of an MDC. The returned object is closed after the line is written. If this
     * method throws, the line is not logged; nothing else changes.
     *
     * @param fields names and printable values of the known fields among table, topic, event_id, tenant_id,
     *     sequence, attempts, listener and outcome
     * @return the object to close, or null, the default
     */
    default @Nullable AutoCloseable enterLog(EventEnvelope event, Map<String, String> fields) {
        return null;
    }

    static EventInterceptor before(BeforeHook hook) {
        return new EventInterceptor() {
            @Override
            public void beforeDispatch(EventEnvelope event) throws Exception {
                hook.accept(event);
            }
        };
    }

    static EventInterceptor after(AfterHook hook) {
        return new EventInterceptor() {
            @Override
            public void afterDispatch(EventEnvelope event, @Nullable Exception error) {
                hook.accept(event, error);
            }
        };
    }

    /** See {@link EventInterceptor#beforeDispatch}. */
    @FunctionalInterface
    interface BeforeHook {
        void accept(EventEnvelope event) throws Exception;
    }

    /** See {@link EventInterceptor#afterDispatch}. */
    @FunctionalInterface
    interface AfterHook {
        void accept(EventEnvelope event, @Nullable Exception error);
    }
}
