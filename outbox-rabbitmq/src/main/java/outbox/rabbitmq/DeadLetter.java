package outbox.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Envelope;
import org.jspecify.annotations.Nullable;

import java.util.List;
import java.util.Map;

/**
 * A message in a dead-letter queue, without its body.
 *
 * @param eventId the id of its event; null if there is none
 * @param eventType the type of its event; null if unknown
 * @param reason the reason given by the consumer or by the broker, such as rejected or expired
 * @param queue the queue that it came from; null if unknown
 * @param consumer the consumer that rejected it; null if the broker moved it
 * @param failedAt the time of the failure as text; null if unknown
 * @param redeliveries the number of earlier redeliveries
 * @param replays the number of earlier replays
 * @param size of the body, in bytes
 */
public record DeadLetter(
        @Nullable String eventId,
        @Nullable String eventType,
        String reason,
        @Nullable String queue,
        @Nullable String consumer,
        @Nullable String failedAt,
        int redeliveries,
        int replays,
        int size) {

    static DeadLetter of(Envelope envelope, BasicProperties properties, byte[] body) {
        String eventId = properties.getMessageId();
        String eventType = properties.getType();
        try {
            ReceivedMessage message = ReceivedMessage.parse(properties, body);
            eventId = message.eventId();
            eventType = message.eventType();
        } catch (UnrecoverableMessageException e) {
            // use the properties of a message that cannot be parsed
        }
        String reason = MessageHeaders.text(properties, MessageHeaders.REASON);
        String queue = MessageHeaders.text(properties, MessageHeaders.QUEUE);
        Map<?, ?> death = lastDeath(properties);
        return new DeadLetter(
                eventId,
                eventType,
                reason != null ? reason : word(death, "reason", "unknown"),
                queue != null ? queue : MessageHeaders.text(death.get("queue")),
                MessageHeaders.text(properties, MessageHeaders.CONSUMER),
                MessageHeaders.text(properties, MessageHeaders.FAILED_AT),
                MessageHeaders.number(properties, MessageHeaders.REDELIVERIES),
                MessageHeaders.number(properties, MessageHeaders.REPLAYS),
                body.length);
    }

    private static String word(Map<?, ?> death, String name, String otherwise) {
        String text = MessageHeaders.text(death.get(name));
        return text == null ? otherwise : text;
    }

    /**
     * Returns the latest {@code x-death} entry, which the broker adds when it dead-letters a message. The latest is
     * first.
     */
    private static Map<?, ?> lastDeath(BasicProperties properties) {
        return MessageHeaders.of(properties).get("x-death") instanceof List<?> deaths
                        && !deaths.isEmpty()
                        && deaths.get(0) instanceof Map<?, ?> latest
                ? latest
                : Map.of();
    }
}
