package outbox.rabbitmq;

import com.rabbitmq.client.BuiltinExchangeType;

import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.TreeMap;

/**
 * Delays messages with queues that have no consumer and a fixed message TTL. When the TTL expires, a message goes to
 * the target exchange with its original routing key. Each delay has its own queue, because a queue expires messages
 * only at its head: in a shared queue a short delay would wait behind a long one.
 *
 * <p>Immutable. Declare it with {@link RabbitTopology.Builder#delay}. If the target exchange has no matching queue
 * when a message expires, the broker drops the message.
 */
public final class RabbitDelay {

    private final String name;
    private final String target;
    private final TreeMap<Duration, String> buckets =
            new TreeMap<>(); // delay to exchange name; not changed after the constructor

    private RabbitDelay(String name, String target, Duration[] spans) {
        this.name = name;
        this.target = target;
        for (Duration span : spans) {
            int millis = RabbitQueue.millis(span);
            buckets.put(span, RabbitRoute.check("exchange", name + "." + millis));
        }
    }

    /**
     * Creates delays for a target exchange.
     *
     * @param name the prefix of the exchange and queue names; the delay in milliseconds follows
     */
    public static RabbitDelay to(String target, String name, Duration... spans) {
        if (name.isBlank() || target.isBlank()) {
            throw new IllegalArgumentException("A delay needs a name and a target exchange");
        }
        if (spans.length == 0) {
            throw new IllegalArgumentException("Delay " + name + " needs at least one span");
        }
        if (Arrays.stream(spans).distinct().count() < spans.length) {
            throw new IllegalArgumentException("Delay " + name + " has a span twice: " + Arrays.toString(spans));
        }
        return new RabbitDelay(name, RabbitRoute.check("exchange", target), spans);
    }

    /**
     * Returns the route with the shortest delay that is at least this long.
     *
     * @throws IllegalArgumentException if all delays are shorter
     */
    public RabbitRoute route(Duration atLeast, String routingKey) {
        var bucket = buckets.ceilingEntry(atLeast);
        if (bucket == null) {
            throw new IllegalArgumentException("Delay " + name + " has no span of " + atLeast
                    + " or more; the longest is " + Collections.max(buckets.keySet()));
        }
        return new RabbitRoute(bucket.getValue(), routingKey);
    }

    void addTo(RabbitTopology.Builder topology) {
        buckets.forEach((span, bucket) -> topology.exchange(bucket, BuiltinExchangeType.FANOUT)
                .queue(RabbitQueue.named(bucket).timeToLive(span).deadLetterTo(target))
                .bind(bucket, bucket, ""));
    }
}
