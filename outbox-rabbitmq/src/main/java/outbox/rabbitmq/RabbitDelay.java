package outbox.rabbitmq;

import com.rabbitmq.client.BuiltinExchangeType;

import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.TreeMap;

/**
 * Delays messages by queues that nobody reads and whose messages all live equally long: when its time is over, a message goes to the target exchange by the routing key that it was
 * published with. Each span has a queue of its own, because a queue looks at its head only: in one with mixed times a short one waits behind a long one.
 *
 * <p>Immutable. Declare it with {@link RabbitTopology.Builder#delay}. A message for which the target has no queue when its time is over is lost, as the broker's way is.
 */
public final class RabbitDelay {

    private final String name;
    private final String target;
    private final TreeMap<Duration, String> buckets =
            new TreeMap<>(); // the exchange of each; not changed after the constructor

    private RabbitDelay(String name, String target, Duration[] spans) {
        this.name = name;
        this.target = target;
        for (Duration span : spans) {
            int millis = RabbitQueue.millis(span);
            buckets.put(span, RabbitRoute.check("exchange", name + "." + millis));
        }
    }

    /**
     * Delays by these spans for this exchange.
     *
     * @param name what the names of its exchanges and queues begin with; the span in milliseconds follows
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

    /** The way to the target by this routing key after the shortest span that is not shorter than this; a longer one than all is refused. */
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
