package outbox.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import org.jspecify.annotations.Nullable;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The headers by which a message that is published again tells where it has been. */
final class MessageHeaders {

    /** How often the message was redelivered after a failure that counts. */
    static final String REDELIVERIES = "x-outbox-redeliveries";
    /** Why it failed the last time. */
    static final String REASON = "x-outbox-reason";

    static final String FAILED_AT = "x-outbox-failed-at";
    static final String CONSUMER = "x-outbox-consumer";
    /** Where it came from; a replay takes it back there. */
    static final String QUEUE = "x-outbox-queue";

    static final String EXCHANGE = "x-outbox-exchange";
    static final String ROUTING_KEY = "x-outbox-routing-key";
    /** How often it was replayed as a dead letter, by whom and why, and in which run. */
    static final String REPLAYS = "x-outbox-replays";

    static final String REPLAYED_BY = "x-outbox-replayed-by";
    static final String REPLAY_REASON = "x-outbox-replay-reason";
    static final String REPLAY_RUN = "x-outbox-replay-run";

    private static final Set<String> ROUTES = Set.of("CC", "BCC"); // the broker would send the copy there too
    private static final int PERSISTENT = 2;

    private MessageHeaders() {}

    /** The properties for a copy of a message: persistent, without what would route it elsewhere. The broker refuses a user id that is not the publisher's. */
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

    /** The number in a header; 0 if there is none, or something else. */
    static int number(BasicProperties properties, String name) {
        return of(properties).get(name) instanceof Number number && number.longValue() > 0
                ? (int) Math.min(number.longValue(), Integer.MAX_VALUE - 1)
                : 0;
    }

    static @Nullable String text(BasicProperties properties, String name) {
        return text(of(properties).get(name));
    }

    /** A text comes as a type of the client. */
    static @Nullable String text(@Nullable Object value) {
        return value == null || value instanceof Map || value instanceof List || value instanceof byte[]
                ? null
                : value.toString();
    }

    /** All headers that are texts, numbers or the like. */
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
