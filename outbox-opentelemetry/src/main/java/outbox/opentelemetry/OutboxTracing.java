package outbox.opentelemetry;

import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.Tracer;
import org.jspecify.annotations.Nullable;
import outbox.WriteInterceptor;
import outbox.dispatch.EventInterceptor;
import outbox.relay.TraceContext;

import java.util.Objects;

/**
 * Traces events from their write to each attempt to deliver them, across processes and retries, by the messaging conventions of OpenTelemetry.
 *
 * <pre>{@code
 * OutboxTracing tracing = OutboxTracing.of(openTelemetry);
 * OutboxWriter writer = new OutboxWriter(txContext, store, hook).interceptedBy(tracing.writes());
 * OutboxDispatcher.builder().interceptor(tracing.deliveries())…
 * }</pre>
 *
 * <p>A write makes a span {@code create <event type>} and stores its context in the headers {@code traceparent} and {@code tracestate} of the event. Each attempt makes a span {@code process
 * <event type>} that is linked to it, and is the current one while the listener is called. The headers stay what the write made them: they are the creation context that a transport sends on.
 * Thread-safe.
 */
public final class OutboxTracing {

    private static final String SCOPE = "outbox";

    private final Tracer tracer;
    private final boolean continued;

    private OutboxTracing(Tracer tracer, boolean continued) {
        this.tracer = tracer;
        this.continued = continued;
    }

    /** Deliveries are traces of their own, each with a link to the write: a retry after days does not make a trace of days. */
    public static OutboxTracing of(OpenTelemetry openTelemetry) {
        Objects.requireNonNull(openTelemetry, "openTelemetry");
        return new OutboxTracing(openTelemetry.getTracer(SCOPE), false);
    }

    /** The same, but a delivery also continues the trace of the write, as its child. */
    public OutboxTracing continuingTraces() {
        return new OutboxTracing(tracer, true);
    }

    /** For {@link outbox.OutboxWriter#interceptedBy}. */
    public WriteInterceptor writes() {
        return new WriteSpans(tracer);
    }

    /** The context of the thread's span, for what is written without a {@link #writes() span of its own}: {@code publisher.withTrace(OutboxTracing::currentContext)}. Null if there is no span. */
    public static @Nullable TraceContext currentContext() {
        return TraceHeaders.contextOf(Span.current());
    }

    /** For {@link outbox.dispatch.OutboxDispatcher.Builder#interceptor}; the first of them, so that a refusal of another one is on the span as well. One per dispatcher. */
    public EventInterceptor deliveries() {
        return new DeliverySpans(tracer, continued);
    }
}
