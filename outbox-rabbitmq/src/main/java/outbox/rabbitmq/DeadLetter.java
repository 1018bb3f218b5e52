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
 * @param eventType the type of its event; null if it cannot be told
 * @param reason why it is here: the words of the consumer, or of the broker, such as rejected or expired
 * @param queue where it came from; null if nobody said so
 * @param consumer who gave it up; null if it was the broker
 * @param failedAt when, as text; null if nobody said so
 * @param redeliveries how often it was redelivered before
 * @param replays how often it was replayed before
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
            // one that cannot be read is here for that reason; its properties may tell something
        }
        String reason = MessageHeaders.text(properties, MessageHeaders.REASON);
        String queue = MessageHeaders.text(properties, MessageHeaders.QUEUE);
        Map<?, ?> death = lastDeath(properties);
        return new DeadLetter(
                eventId,
                eventType,
                reason != null ? reason : word(death, "reason", "not told"),
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

    /** What the broker notes when it moves a message itself: the latest first. */
    private static Map<?, ?> lastDeath(BasicProperties properties) {
        return MessageHeaders.of(properties).get("x-death") instanceof List<?> deaths
                        && !deaths.isEmpty()
                        && deaths.get(0) instanceof Map<?, ?> latest
                ? latest
                : Map.of();
    }
}
