package outbox.rabbitmq;

import org.jspecify.annotations.Nullable;
import outbox.AggregateType;
import outbox.EventEnvelope;

import java.util.Map;

/**
 * Sends the payload unchanged; see {@link MessageFormat#CLOUD_EVENTS}. The header prefix is that of the AMQP 1.0
 * binding, because CloudEvents defines no binding for AMQP 0-9-1.
 */
final class CloudEventFormat implements MessageFormat {

    private static final String PREFIX = "cloudEvents_";

    private final String source;

    CloudEventFormat(String source) {
        this.source = source;
    }

    @Override
    public RabbitMessage messageOf(EventEnvelope event) {
        Map<String, Object> headers = CommonProperties.headers(event);
        headers.put(PREFIX + "specversion", "1.0");
        headers.put(PREFIX + "id", event.eventId());
        headers.put(PREFIX + "type", event.eventType());
        headers.put(PREFIX + "source", source);
        headers.put(PREFIX + "time", event.occurredAt().toString());
        String subject = subject(event);
        if (subject != null) {
            headers.put(PREFIX + "subject", subject);
        }
        String given = CommonProperties.header(event, "content-type");
        String contentType = given != null ? given : event.isBinary() ? "application/octet-stream" : "application/json";
        return RabbitMessage.of(CommonProperties.of(event, contentType, headers), event.payloadBytes());
    }

    private static @Nullable String subject(EventEnvelope event) {
        String id = event.aggregateId();
        boolean typed = !event.aggregateType().equals(AggregateType.GLOBAL.name());
        return id == null || !typed ? id : event.aggregateType() + "/" + id;
    }
}
