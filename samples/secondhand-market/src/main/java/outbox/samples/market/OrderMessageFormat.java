package outbox.samples.market;

import outbox.EventEnvelope;
import outbox.GiveUpException;
import outbox.rabbitmq.MessageFormat;
import outbox.rabbitmq.RabbitMessage;

/** The contract of section 6, with the trace in its own field and out of the payload. */
final class OrderMessageFormat implements MessageFormat {

    @Override
    public RabbitMessage messageOf(EventEnvelope event) {
        if (OrderEvent.named(event.eventType()).isEmpty()) { // no further attempt would make it one of ours
            throw new GiveUpException(Texts.UNSUPPORTED_TYPE + ": " + event.eventType());
        }
        StoredPayload stored = StoredPayload.parse(event.payloadJson());
        EventEnvelope.Builder message = EventEnvelope.builder(event.eventType())
                .eventId(event.eventId())
                .occurredAt(event.occurredAt())
                .aggregateType(event.aggregateType())
                .aggregateId(event.aggregateId())
                .payloadJson(stored.payload());
        if (stored.traceId() != null) {
            message.header("traceId", stored.traceId());
        }
        return MessageFormat.CONTRACT.messageOf(message.build());
    }
}
