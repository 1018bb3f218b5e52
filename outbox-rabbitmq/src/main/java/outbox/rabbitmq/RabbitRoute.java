package outbox.rabbitmq;

import java.nio.charset.StandardCharsets;

/**
 * The exchange and routing key of a message. An empty exchange is the default exchange of the broker; then the
 * routing key is a queue name.
 *
 * @param exchange at most 255 bytes
 * @param routingKey at most 255 bytes
 */
public record RabbitRoute(String exchange, String routingKey) {

    private static final int MAX_BYTES = 255; // limit of an AMQP short string

    public RabbitRoute {
        check("exchange", exchange);
        check("routingKey", routingKey);
    }

    static String check(String what, String name) {
        int bytes = name.getBytes(StandardCharsets.UTF_8).length;
        if (bytes > MAX_BYTES) {
            throw new IllegalArgumentException(what + " must have at most " + MAX_BYTES + " bytes, not " + bytes);
        }
        return name;
    }

    @Override
    public String toString() {
        return "exchange '" + exchange + "', routing key '" + routingKey + "'";
    }
}
