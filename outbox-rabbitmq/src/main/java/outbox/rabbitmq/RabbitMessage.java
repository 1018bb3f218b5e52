package outbox.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;

import java.util.Objects;

/** An event as RabbitMQ carries it. Whatever the properties say, the transport sends it persistent and with the event's id as its message id. */
public final class RabbitMessage {

    private static final int PERSISTENT = 2;

    private final BasicProperties properties;
    private final byte[] body;

    private RabbitMessage(BasicProperties properties, byte[] body) {
        this.properties = properties;
        this.body = body;
    }

    /** The array is not copied. */
    public static RabbitMessage of(BasicProperties properties, byte[] body) {
        return new RabbitMessage(
                Objects.requireNonNull(properties, "properties"), Objects.requireNonNull(body, "body"));
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

    /** Not a copy. */
    public byte[] body() {
        return body;
    }
}
