package outbox.opentelemetry;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.Tracer;
import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.EventHeaders;
import outbox.WriteInterceptor;

import java.util.Map;

/**
 * Creates a span for each written event, as a child of the current span. An event that already has a trace context
 * keeps it and gets no span, because it was created elsewhere.
 */
final class WriteSpans implements WriteInterceptor {

    private final Tracer tracer;
    private final OpenSpans open = new OpenSpans();

    WriteSpans(Tracer tracer) {
        this.tracer = tracer;
    }

    @Override
    public Map<String, String> beforeWrite(EventEnvelope event) {
        if (event.headers().containsKey(EventHeaders.TRACE_PARENT)) {
            return Map.of();
        }
        Span span =
                MessagingSpans.of(tracer, SpanKind.PRODUCER, "create", event).startSpan();
        open.add(event, span);
        return TraceHeaders.of(span);
    }

    @Override
    public void afterWrite(EventEnvelope event, @Nullable Throwable error) {
        open.end(event, error);
    }
}
