package outbox;

import org.jspecify.annotations.Nullable;
import outbox.internal.ThrottledLog;
import outbox.internal.text.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * Calls the interceptors of a writer. Their exceptions are logged and not passed on: a business transaction must not
 * fail because tracing failed.
 */
final class InterceptedWrites {

    private static final Logger LOG = SafeLogger.of(InterceptedWrites.class);

    static final InterceptedWrites NONE = new InterceptedWrites(List.of());

    private final List<WriteInterceptor> interceptors;
    private final ThrottledLog trouble = new ThrottledLog(LOG);

    private InterceptedWrites(List<WriteInterceptor> interceptors) {
        this.interceptors = interceptors;
    }

    InterceptedWrites with(WriteInterceptor interceptor) {
        List<WriteInterceptor> all = new ArrayList<>(interceptors);
        all.add(interceptor);
        return new InterceptedWrites(List.copyOf(all));
    }

    <T> T around(List<EventEnvelope> events, Function<List<EventEnvelope>, T> write) {
        List<EventEnvelope> enriched = events.stream().map(this::before).toList();
        T result;
        try {
            result = write.apply(enriched);
        } catch (Throwable e) {
            after(events, e);
            throw e;
        }
        after(events, null);
        return result;
    }

    private EventEnvelope before(EventEnvelope event) {
        EventEnvelope enriched = event;
        for (WriteInterceptor interceptor : interceptors) {
            try {
                Map<String, String> headers = interceptor.beforeWrite(event);
                if (!headers.isEmpty()) {
                    enriched = enriched.withMoreHeaders(headers);
                }
            } catch (Throwable e) {
                trouble.log(
                        Level.WARNING,
                        "An interceptor failed before the write of event " + event.eventId()
                                + "; it is written without what that would have added",
                        e);
            }
        }
        return enriched;
    }

    /** Calls the interceptors in reverse order. */
    private void after(List<EventEnvelope> events, @Nullable Throwable error) {
        for (int i = interceptors.size() - 1; i >= 0; i--) {
            for (EventEnvelope event : events) {
                try {
                    interceptors.get(i).afterWrite(event, error);
                } catch (Throwable e) {
                    trouble.log(Level.WARNING, "An interceptor failed after the write of event " + event.eventId(), e);
                }
            }
        }
    }
}
