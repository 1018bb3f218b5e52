package outbox.opentelemetry;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanBuilder;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.dispatch.EventInterceptor;
import outbox.internal.text.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Creates a span for each delivery attempt. A call with several events gets one more, because only one span can be
 * current on the listener's thread.
 */
final class DeliverySpans implements EventInterceptor {

    private static final Logger LOG = SafeLogger.of(DeliverySpans.class);

    private final Tracer tracer;
    private final boolean continued;
    private final AtomicBoolean told = new AtomicBoolean(); // whether a failing tracer was logged
    private final OpenSpans open = new OpenSpans();

    DeliverySpans(Tracer tracer, boolean continued) {
        this.tracer = tracer;
        this.continued = continued;
    }

    @Override
    public void beforeDispatch(EventEnvelope event, int attempt) {
        try {
            begin(event, attempt);
        } catch (Throwable e) {
            failed(e);
        }
    }

    private void begin(EventEnvelope event, int attempt) {
        Context writer = TraceHeaders.contextOf(event);
        SpanContext creation = TraceHeaders.spanOf(writer);
        SpanBuilder span = MessagingSpans.of(tracer, SpanKind.CONSUMER, "process", event)
                .setAttribute(MessagingSpans.ATTEMPT, (long) attempt);
        if (creation.isValid()) {
            span.addLink(creation);
        }
        if (continued && creation.isValid()) {
            span.setParent(writer);
        } else {
            span.setNoParent();
        }
        open.add(event, span.startSpan());
    }

    @Override
    public @Nullable AutoCloseable enterListener(List<EventEnvelope> events) {
        try {
            return events.size() > 1 ? enterBatch(events) : enter(events.get(0));
        } catch (Throwable e) {
            failed(e);
            return null;
        }
    }

    @SuppressWarnings("MustBeClosedChecker") // the engine closes it
    private @Nullable AutoCloseable enter(EventEnvelope event) {
        Span span = open.get(event);
        return span == null ? null : span.makeCurrent();
    }

    @SuppressWarnings("MustBeClosedChecker") // the engine closes it
    private AutoCloseable enterBatch(List<EventEnvelope> events) {
        String first = events.get(0).eventType();
        boolean one = events.stream().allMatch(event -> event.eventType().equals(first));
        SpanBuilder builder = MessagingSpans.of(
                        tracer, SpanKind.CONSUMER, "process_batch", "process", one ? first : null)
                .setNoParent()
                .setAttribute(MessagingSpans.BATCH_SIZE, (long) events.size());
        for (EventEnvelope event : events) {
            Span delivery = open.get(event);
            if (delivery != null) {
                builder.addLink(delivery.getSpanContext());
            }
        }
        Span span = builder.startSpan();
        Scope scope = span.makeCurrent();
        return () -> {
            scope.close();
            span.end();
        };
    }

    @Override
    public void afterDispatch(EventEnvelope event, @Nullable Exception error) {
        open.end(event, error);
    }

    /** Logs the failure, once as a warning. A failing tracer must not fail the delivery. */
    private void failed(Throwable why) {
        Level level = told.compareAndSet(false, true) ? Level.WARNING : Level.DEBUG;
        LOG.log(level, "Tracing failed; the delivery continues without a span", why);
    }
}
