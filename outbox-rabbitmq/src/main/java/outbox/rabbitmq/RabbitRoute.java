package outbox.rabbitmq;

import java.nio.charset.StandardCharsets;

/**
 * Where a message goes. The exchange may be empty, which is the broker's default exchange: then the routing key is the name of a queue.
 *
 * @param exchange at most 255 bytes
 * @param routingKey at most 255 bytes
 */
public record RabbitRoute(String exchange, String routingKey) {

    private static final int MAX_BYTES = 255; // of a short string of AMQP

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
