package outbox.opentelemetry;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.propagation.TextMapGetter;
import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.EventHeaders;
import outbox.TraceContext;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The trace context in the headers of an event. The format is always W3C, independent of the propagators of the
 * application, because writer and reader may be configured differently. Baggage is meant for a request and is not
 * stored.
 */
final class TraceHeaders {

    private static final W3CTraceContextPropagator W3C = W3CTraceContextPropagator.getInstance();
    private static final TextMapGetter<EventEnvelope> HEADERS = new TextMapGetter<>() {
        @Override
        public Iterable<String> keys(EventEnvelope event) {
            return event.headers().keySet();
        }

        @Override
        public @Nullable String get(@Nullable EventEnvelope event, String key) {
            return event == null ? null : event.headers().get(key);
        }
    };

    private TraceHeaders() {}

    /** Returns the headers of a span; empty if the span has no valid context. */
    static Map<String, String> of(Span span) {
        Map<String, String> headers = new LinkedHashMap<>();
        W3C.inject(Context.root().with(span), headers, (carrier, name, value) -> {
            if (carrier != null) {
                carrier.put(name, value);
            }
        });
        return headers;
    }

    /** Returns the context of a span for table columns, or null if the span has no valid context. */
    static @Nullable TraceContext contextOf(Span span) {
        Map<String, String> headers = of(span);
        String parent = headers.get(EventHeaders.TRACE_PARENT);
        return parent == null ? null : new TraceContext(parent, headers.get(EventHeaders.TRACE_STATE));
    }

    /** Returns the context in which the event was written, without a span if the headers contain no valid one. */
    static Context contextOf(EventEnvelope event) {
        return W3C.extract(Context.root(), event, HEADERS);
    }

    static SpanContext spanOf(Context context) {
        return Span.fromContext(context).getSpanContext();
    }
}
