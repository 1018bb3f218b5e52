package outbox.opentelemetry;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.propagation.TextMapGetter;
import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.relay.TraceContext;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Trace context in the headers of an event: always that of the W3C, whatever the application sends over its network, since writer and reader may be configured differently. Baggage is left out: it
 * would store in the table what was meant for a request.
 */
final class TraceHeaders {

    static final String TRACE_PARENT = "traceparent";
    static final String TRACE_STATE = "tracestate";

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

    /** Empty if the span has no context to tell about. */
    static Map<String, String> of(Span span) {
        Map<String, String> headers = new LinkedHashMap<>();
        W3C.inject(Context.root().with(span), headers, (carrier, name, value) -> {
            if (carrier != null) {
                carrier.put(name, value);
            }
        });
        return headers;
    }

    /** What the columns of a table take; null if the span has no context to tell about. */
    static @Nullable TraceContext contextOf(Span span) {
        Map<String, String> headers = of(span);
        String parent = headers.get(TRACE_PARENT);
        return parent == null ? null : new TraceContext(parent, headers.get(TRACE_STATE));
    }

    /** The context under which the event was written; without a span if its headers have none, or none that can be read. */
    static Context contextOf(EventEnvelope event) {
        return W3C.extract(Context.root(), event, HEADERS);
    }

    static SpanContext spanOf(Context context) {
        return Span.fromContext(context).getSpanContext();
    }
}
