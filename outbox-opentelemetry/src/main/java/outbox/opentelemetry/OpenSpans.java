package outbox.opentelemetry;

import io.opentelemetry.api.trace.Span;
import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Map;

/**
 * The spans that have started and not ended, by object identity of the event: two concurrent runs of one event, such
 * as a hanging one and its retry, are two entries. The size is the number of events that are being written or
 * delivered.
 */
final class OpenSpans {

    private final Map<EventEnvelope, Span> spans = Collections.synchronizedMap(new IdentityHashMap<>());

    void add(EventEnvelope event, Span span) {
        Span before = spans.put(event, span);
        if (before != null) { // the same object was passed twice
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
