package outbox.rabbitmq;

import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * A durable queue of a {@link RabbitTopology}: its name and arguments. Immutable; each method returns a changed copy.
 */
public final class RabbitQueue {

    private static final Duration LONGEST = Duration.ofMillis(Integer.MAX_VALUE); // above this, brokers differ

    private final String name;
    private final Map<String, Object> arguments;

    private RabbitQueue(String name, Map<String, Object> arguments) {
        this.name = name;
        this.arguments = arguments;
    }

    public static RabbitQueue named(String name) {
        if (name.isBlank()) {
            throw new IllegalArgumentException("A queue needs a name");
        }
        return new RabbitQueue(RabbitRoute.check("queue", name), Map.of());
    }

    /** Sends rejected, expired and excess messages to this exchange, with their own routing key. */
    public RabbitQueue deadLetterTo(String exchange) {
        return argument("x-dead-letter-exchange", RabbitRoute.check("exchange", exchange));
    }

    /** Sends rejected, expired and excess messages to this exchange, with this routing key. */
    public RabbitQueue deadLetterTo(String exchange, String routingKey) {
        return deadLetterTo(exchange)
                .argument("x-dead-letter-routing-key", RabbitRoute.check("routingKey", routingKey));
    }

    /** Sets the message TTL, 1 ms to about 24 days. */
    public RabbitQueue timeToLive(Duration timeToLive) {
        return argument("x-message-ttl", millis(timeToLive));
    }

    static int millis(Duration span) {
        if (span.toMillis() < 1 || span.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException("A time to live must be between 1 ms and " + LONGEST + ": " + span);
        }
        return (int) span.toMillis();
    }

    /** Limits the queue to this many messages; the broker nacks further ones. */
    public RabbitQueue refuseBeyond(int messages) {
        if (messages < 0) {
            throw new IllegalArgumentException("A queue cannot hold " + messages + " messages");
        }
        return argument("x-max-length", messages).argument("x-overflow", "reject-publish");
    }

    /** Makes it a quorum queue: replicated, with a delivery count per message. */
    public RabbitQueue quorum() {
        return argument("x-queue-type", "quorum");
    }

    /** Sets any other queue argument. */
    public RabbitQueue argument(String argument, Object value) {
        Map<String, Object> more = new LinkedHashMap<>(arguments);
        if (more.put(argument, Objects.requireNonNull(value, "value")) != null) {
            throw new IllegalArgumentException("Queue " + name + " has the argument " + argument + " already");
        }
        return new RabbitQueue(name, more);
    }

    public String name() {
        return name;
    }

    /** Unmodifiable. */
    public Map<String, Object> arguments() {
        return Collections.unmodifiableMap(arguments);
    }

    @Override
    public String toString() {
        return "queue '" + name + "' " + arguments;
    }
}
