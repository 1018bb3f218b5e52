package outbox.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import org.jspecify.annotations.Nullable;

import java.util.Map;
import java.util.Objects;

/**
 * The message of an event. The transport always sends it as persistent and with the event id as message id, whatever
 * the properties contain.
 */
public final class RabbitMessage {

    private static final int PERSISTENT = 2;

    private final BasicProperties properties;
    private final byte[] body;

    private RabbitMessage(BasicProperties properties, byte[] body) {
        this.properties = properties;
        this.body = body;
    }

    /** Creates a message. The array is not copied. Header names must not be null. */
    public static RabbitMessage of(BasicProperties properties, byte[] body) {
        checkNames(properties.getHeaders());
        return new RabbitMessage(
                Objects.requireNonNull(properties, "properties"), Objects.requireNonNull(body, "body"));
    }

    /** Checks header names. The client would fail on a null name while it writes, without naming the event. */
    private static void checkNames(@Nullable Object value) {
        if (value instanceof Map<?, ?> table) {
            table.forEach((name, nested) -> {
                Objects.requireNonNull(name, "A header needs a name");
                checkNames(nested);
            });
        } else if (value instanceof Iterable<?> list) {
            list.forEach(RabbitMessage::checkNames);
        }
    }

    RabbitMessage identifiedBy(String eventId) {
        Integer mode = properties.getDeliveryMode();
        if (eventId.equals(properties.getMessageId()) && mode != null && mode == PERSISTENT) {
            return this;
        }
        return new RabbitMessage(
                properties.builder().messageId(eventId).deliveryMode(PERSISTENT).build(), body);
    }

    public BasicProperties properties() {
        return properties;
    }

    /** Returns the array itself, not a copy. */
    public byte[] body() {
        return body;
    }
}
