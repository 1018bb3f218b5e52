package outbox.opentelemetry;

import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanBuilder;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.dispatch.ListenerErrorException;

import static io.opentelemetry.api.common.AttributeKey.longKey;
import static io.opentelemetry.api.common.AttributeKey.stringKey;

/**
 * Names of the OpenTelemetry messaging conventions. They are copied as text, because the artifact with the constants
 * changes with each release.
 */
final class MessagingSpans {

    static final AttributeKey<String> SYSTEM = stringKey("messaging.system");
    static final AttributeKey<String> DESTINATION = stringKey("messaging.destination.name");
    static final AttributeKey<String> OPERATION_NAME = stringKey("messaging.operation.name");
    static final AttributeKey<String> OPERATION_TYPE = stringKey("messaging.operation.type");
    static final AttributeKey<String> MESSAGE_ID = stringKey("messaging.message.id");
    static final AttributeKey<Long> BODY_SIZE = longKey("messaging.message.body.size");
    static final AttributeKey<Long> BATCH_SIZE = longKey("messaging.batch.message_count");
    static final AttributeKey<String> ERROR_TYPE = stringKey("error.type");
    static final AttributeKey<Long> ATTEMPT = longKey("outbox.attempt"); // not part of the conventions

    private MessagingSpans() {}

    static SpanBuilder of(Tracer tracer, SpanKind kind, String operation, EventEnvelope event) {
        return of(tracer, kind, operation, operation, event.eventType())
                .setAttribute(MESSAGE_ID, event.eventId())
                .setAttribute(BODY_SIZE, (long) event.payloadSize());
    }

    /**
     * Creates a span that belongs to no single event.
     *
     * @param destination null if there are several
     */
    static SpanBuilder of(Tracer tracer, SpanKind kind, String operation, String type, @Nullable String destination) {
        SpanBuilder span = tracer.spanBuilder(destination == null ? operation : operation + " " + destination)
                .setSpanKind(kind)
                .setAttribute(SYSTEM, "outbox")
                .setAttribute(OPERATION_NAME, operation)
                .setAttribute(OPERATION_TYPE, type);
        return destination == null ? span : span.setAttribute(DESTINATION, destination);
    }

    static void end(Span span, @Nullable Throwable error) {
        Throwable cause =
                error instanceof ListenerErrorException && error.getCause() != null ? error.getCause() : error;
        if (cause != null) {
            String message = cause.getMessage();
            span.setStatus(StatusCode.ERROR, message == null ? "" : message);
            span.setAttribute(ERROR_TYPE, cause.getClass().getName());
            span.recordException(cause);
        }
        span.end();
    }
}
