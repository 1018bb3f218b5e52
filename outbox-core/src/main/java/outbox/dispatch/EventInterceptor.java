package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;

import java.util.List;
import java.util.Map;

/**
 * Code around every delivery, for audit, logging and metrics. Called on worker threads, by several at once; after an asynchronous listener, on the thread that
 * completes its stage.
 */
public interface EventInterceptor {

    /** Before the listener, in the order of registration. What it throws is a failed attempt: neither later interceptors nor the listener run. */
    default void beforeDispatch(EventEnvelope event) throws Exception {}

    /** Like {@link #beforeDispatch(EventEnvelope)}, which it calls by default, with the number of the attempt, counted from 1. The engine calls this one. */
    default void beforeDispatch(EventEnvelope event, int attempt) throws Exception {
        beforeDispatch(event);
    }

    /**
     * Right before the listener is called, on the thread that calls it: for what belongs to a thread, such as the current trace. The answer is closed on the same thread as soon as
     * the call returns, which for an asynchronous listener is before its stage completes. What this throws is a failed attempt; what the close throws is logged and changes nothing.
     *
     * @param events those of the call: one, unless the listener takes batches
     * @return null, as by default, if there is nothing to close
     */
    default @Nullable AutoCloseable enterListener(List<EventEnvelope> events) throws Exception {
        return null;
    }

    /**
     * After the listener, in reverse order; also when the event could not be routed or an interceptor refused it. What it throws is logged and changes nothing.
     *
     * @param error why the attempt failed, or null; an {@link Error} arrives as the cause of a {@link ListenerErrorException}
     */
    default void afterDispatch(EventEnvelope event, @Nullable Exception error) {}

    /**
     * Right before the library logs that an attempt failed, on the thread that writes the line: for fields of that
     * line, such as those of an MDC. The answer is closed when the line is written. What this throws keeps the line
     * from the log; it changes nothing else.
     *
     * @param fields names and printable values, those that are known of table, topic, event_id, tenant_id, sequence,
     *     attempts, listener and outcome
     * @return null, as by default, if there is nothing to close
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
