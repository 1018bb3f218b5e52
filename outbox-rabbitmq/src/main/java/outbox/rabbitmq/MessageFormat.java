package outbox.rabbitmq;

import outbox.EventEnvelope;

import java.net.URI;

/**
 * Makes the message of an event. Called on the dispatcher's workers, by several at a time; what it throws is a failed attempt.
 *
 * <p>Both formats of ours set type, timestamp, content type, correlation id (the event's header {@code correlation-id}) and the headers {@code outbox-aggregate-type}, {@code outbox-aggregate-id},
 * {@code outbox-tenant-id}, {@code outbox-sequence}, {@code traceparent} and {@code tracestate} as far as they are known, and carry the event's own headers. Of those, names that mean something to the broker ({@code x-…},
 * {@code CC}, {@code BCC}) stay here.
 */
@FunctionalInterface
public interface MessageFormat {

    /**
     * A JSON object with eventId, eventType, aggregateType, aggregateId (a number if it is one), occurredAt, traceId and payload, which must be JSON: an event whose payload is not is dead at once.
     * The trace id is the event's header {@code traceId}, else that of {@code traceparent}, else null.
     */
    MessageFormat CONTRACT = new ContractFormat();

    /** The payload as it is, with the attributes of CloudEvents 1.0 as headers {@code cloudEvents_…}; the source is {@code /outbox}. */
    MessageFormat CLOUD_EVENTS = new CloudEventFormat("/outbox");

    /** As {@link #CLOUD_EVENTS}, from this source. */
    static MessageFormat cloudEvents(URI source) {
        if (source.toString().isEmpty()) {
            throw new IllegalArgumentException("source must not be empty");
        }
        return new CloudEventFormat(source.toASCIIString());
    }

    RabbitMessage messageOf(EventEnvelope event);
}
