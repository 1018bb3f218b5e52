package outbox.samples.market;

import outbox.EventEnvelope;
import outbox.GiveUpException;
import outbox.rabbitmq.MessageFormat;
import outbox.rabbitmq.RabbitMessage;

/** The message format of section 6. The trace is in its own field and not in the payload. */
final class OrderMessageFormat implements MessageFormat {

    @Override
    public RabbitMessage messageOf(EventEnvelope event) {
        if (OrderEvent.named(event.eventType()).isEmpty()) { // a retry cannot change the type
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
