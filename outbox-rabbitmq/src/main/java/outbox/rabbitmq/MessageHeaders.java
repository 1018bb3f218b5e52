package outbox.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import org.jspecify.annotations.Nullable;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Headers that the consumer and the replay add to copies of a message. */
final class MessageHeaders {

    /** The number of redeliveries after counted failures. */
    static final String REDELIVERIES = "x-outbox-redeliveries";
    /** The reason of the last failure. */
    static final String REASON = "x-outbox-reason";

    static final String FAILED_AT = "x-outbox-failed-at";
    static final String CONSUMER = "x-outbox-consumer";
    /** The queue that the message came from; a replay publishes to it. */
    static final String QUEUE = "x-outbox-queue";

    static final String EXCHANGE = "x-outbox-exchange";
    static final String ROUTING_KEY = "x-outbox-routing-key";
    /** The number of replays; the actor, reason and id of the last one follow. */
    static final String REPLAYS = "x-outbox-replays";

    static final String REPLAYED_BY = "x-outbox-replayed-by";
    static final String REPLAY_REASON = "x-outbox-replay-reason";
    static final String REPLAY_RUN = "x-outbox-replay-run";

    private static final Set<String> ROUTES = Set.of("CC", "BCC"); // the broker would also route the copy by these
    private static final int PERSISTENT = 2;

    private MessageHeaders() {}

    /**
     * Returns the properties for a copy of a message: persistent and without CC and BCC. The user id is removed,
     * because the broker refuses the id of another user.
     */
    static BasicProperties copied(BasicProperties original, Set<String> without, Map<String, ?> added) {
        Map<String, Object> headers = new HashMap<>(of(original));
        headers.keySet().removeAll(ROUTES);
        headers.keySet().removeAll(without);
        headers.putAll(added);
        return original.builder()
                .headers(headers)
                .userId(null)
                .deliveryMode(PERSISTENT)
                .build();
    }

    static Map<String, Object> of(BasicProperties properties) {
        Map<String, Object> headers = properties.getHeaders();
        return headers == null ? Map.of() : headers;
    }

    /** Returns the positive number in a header, or 0 if there is none. */
    static int number(BasicProperties properties, String name) {
        return of(properties).get(name) instanceof Number number && number.longValue() > 0
                ? (int) Math.min(number.longValue(), Integer.MAX_VALUE - 1)
                : 0;
    }

    static @Nullable String text(BasicProperties properties, String name) {
        return text(of(properties).get(name));
    }

    /** Converts a simple value to text. The client represents strings by its own type {@code LongString}. */
    static @Nullable String text(@Nullable Object value) {
        return value == null || value instanceof Map || value instanceof List || value instanceof byte[]
                ? null
                : value.toString();
    }

    /** Returns the headers with simple values, such as texts and numbers. */
    static Map<String, String> texts(BasicProperties properties) {
        Map<String, String> texts = new LinkedHashMap<>();
        of(properties).forEach((name, value) -> {
            String text = text(value);
            if (text != null) {
                texts.put(name, text);
            }
        });
        return texts;
    }
}
