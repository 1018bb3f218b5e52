package outbox.rabbitmq;

import outbox.EventEnvelope;

import java.net.URI;

/**
 * Creates the message of an event. Dispatcher workers call it concurrently. An exception is a failed attempt.
 *
 * <p>Both built-in formats set type, timestamp, content type, correlation id (from the event header {@code
 * correlation-id}) and the headers {@code outbox-aggregate-type}, {@code outbox-aggregate-id}, {@code
 * outbox-tenant-id}, {@code outbox-sequence}, {@code traceparent} and {@code tracestate} if their values are known.
 * They also copy the headers of the event, except names with a meaning for the broker ({@code x-…}, {@code CC},
 * {@code BCC}).
 */
@FunctionalInterface
public interface MessageFormat {

    /**
     * A JSON object with eventId, eventType, aggregateType, aggregateId (as a number if it is one), occurredAt,
     * traceId and payload. The payload must be JSON; otherwise the event is DEAD at once. The trace id is the event
     * header {@code traceId}, or the trace id of {@code traceparent}, or null.
     */
    MessageFormat CONTRACT = new ContractFormat();

    /**
     * The unchanged payload, with the CloudEvents 1.0 attributes as headers {@code cloudEvents_…}. The source is
     * {@code /outbox}.
     */
    MessageFormat CLOUD_EVENTS = new CloudEventFormat("/outbox");

    /** Like {@link #CLOUD_EVENTS}, with the given source. */
    static MessageFormat cloudEvents(URI source) {
        if (source.toString().isEmpty()) {
            throw new IllegalArgumentException("source must not be empty");
        }
        return new CloudEventFormat(source.toASCIIString());
    }

    RabbitMessage messageOf(EventEnvelope event);
}
