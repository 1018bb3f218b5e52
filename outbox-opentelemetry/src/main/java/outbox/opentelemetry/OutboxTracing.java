package outbox.opentelemetry;

import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.Tracer;
import org.jspecify.annotations.Nullable;
import outbox.TraceContext;
import outbox.WriteInterceptor;
import outbox.dispatch.EventInterceptor;

import java.util.Objects;

/**
 * Traces events from their write to each attempt to deliver them, across processes and retries, by the messaging
 * conventions of OpenTelemetry.
 *
 * <pre>{@code
 * OutboxTracing tracing = OutboxTracing.of(openTelemetry);
 * OutboxWriter writer = new OutboxWriter(txContext, store, hook).interceptedBy(tracing.writes());
 * OutboxDispatcher.builder().interceptor(tracing.deliveries())…
 * }</pre>
 *
 * <p>A write makes a span {@code create <event type>} and stores its context in the headers {@code traceparent} and
 * {@code tracestate} of the event. Each attempt makes a span {@code process <event type>} that is linked to it, and
 * is the current one while the listener is called. The headers stay what the write made them: they are the creation
 * context that a transport sends on. Thread-safe.
 */
public final class OutboxTracing {

    private static final String SCOPE = "outbox";

    private final Tracer tracer;
    private final boolean continued;

    private OutboxTracing(Tracer tracer, boolean continued) {
        this.tracer = tracer;
        this.continued = continued;
    }

    /**
     * Creates tracing in which each delivery starts a new trace with a link to the write, so that a retry after days
     * does not create a trace that lasts days.
     */
    public static OutboxTracing of(OpenTelemetry openTelemetry) {
        Objects.requireNonNull(openTelemetry, "openTelemetry");
        return new OutboxTracing(openTelemetry.getTracer(SCOPE), false);
    }

    /** Returns a copy in which a delivery also continues the trace of the write, as its child. */
    public OutboxTracing continuingTraces() {
        return new OutboxTracing(tracer, true);
    }

    /** Returns the interceptor for {@link outbox.OutboxWriter#interceptedBy}. */
    public WriteInterceptor writes() {
        return new WriteSpans(tracer);
    }

    /**
     * Returns the context of the current span, or null if there is none. Use it for events that are written without
     * their own {@link #writes() span}: {@code publisher.withTrace(OutboxTracing::currentContext)}.
     */
    public static @Nullable TraceContext currentContext() {
        return TraceHeaders.contextOf(Span.current());
    }

    /**
     * Returns the interceptor for {@link outbox.dispatch.OutboxDispatcher.Builder#interceptor}. Register it first, so
     * that its spans also show refusals by other interceptors. Use one per dispatcher.
     */
    public EventInterceptor deliveries() {
        return new DeliverySpans(tracer, continued);
    }
}
