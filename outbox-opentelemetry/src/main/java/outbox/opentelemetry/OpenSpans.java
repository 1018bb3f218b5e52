package outbox.opentelemetry;

import io.opentelemetry.api.trace.Span;
import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Map;

/**
 * The spans that have begun and not ended. They go by the very object: two runs of one event, such as one that hangs and the one after it, are two. As many as events are being written or run at a time.
 */
final class OpenSpans {

    private final Map<EventEnvelope, Span> spans = Collections.synchronizedMap(new IdentityHashMap<>());

    void add(EventEnvelope event, Span span) {
        Span before = spans.put(event, span);
        if (before != null) { // the same object, given twice
            before.end();
        }
    }

    @Nullable
    Span get(EventEnvelope event) {
        return spans.get(event);
    }

    /** Ends the span of the event, if it has one. */
    void end(EventEnvelope event, @Nullable Throwable error) {
        Span span = spans.remove(event);
        if (span != null) {
            MessagingSpans.end(span, error);
        }
    }
}
