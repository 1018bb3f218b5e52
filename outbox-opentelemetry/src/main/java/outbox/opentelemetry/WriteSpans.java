package outbox.opentelemetry;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.Tracer;
import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.WriteInterceptor;

import java.util.Map;

/** A span for each event that is written, as a child of whatever the thread does. An event that brings a context of its own keeps it, and has no span here: it was created elsewhere. */
final class WriteSpans implements WriteInterceptor {

    private final Tracer tracer;
    private final OpenSpans open = new OpenSpans();

    WriteSpans(Tracer tracer) {
        this.tracer = tracer;
    }

    @Override
    public Map<String, String> beforeWrite(EventEnvelope event) {
        if (event.headers().containsKey(TraceHeaders.TRACE_PARENT)) {
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
