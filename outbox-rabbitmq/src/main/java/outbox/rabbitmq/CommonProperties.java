package outbox.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import org.jspecify.annotations.Nullable;
import outbox.AggregateType;
import outbox.EventEnvelope;
import outbox.relay.Meta;

import java.nio.charset.StandardCharsets;
import java.util.Date;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/** What the messages of all formats have in common. */
final class CommonProperties {

    private static final String OURS = "outbox-";
    private static final Set<String> OF_THE_BROKER =
            Set.of("CC", "BCC"); // queues to copy to; a text there closes the channel
    private static final int MAX_NAME_BYTES = 255; // of a short string of AMQP
    private static final Pattern TRACE_PARENT =
            Pattern.compile("[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(-[!-~]*)?");

    private CommonProperties() {}

    static Map<String, Object> headers(EventEnvelope event) {
        Map<String, Object> headers = new HashMap<>();
        event.headers().forEach((name, value) -> {
            if (isCarried(name)) {
                headers.put(name, value);
            }
        });
        if (traceIdOf(event) == null) { // what is no trace context is not sent
            headers.remove(Meta.TRACE_PARENT_HEADER);
            headers.remove(Meta.TRACE_STATE_HEADER);
        }
        if (!event.aggregateType().equals(AggregateType.GLOBAL.name())) {
            headers.put("outbox-aggregate-type", event.aggregateType());
        }
        put(headers, "outbox-aggregate-id", event.aggregateId());
        put(headers, "outbox-tenant-id", event.tenantId());
        put(headers, Meta.SEQUENCE_HEADER, event.headers().get(Meta.SEQUENCE_HEADER));
        return headers;
    }

    private static boolean isCarried(String name) {
        String lower = name.toLowerCase(Locale.ROOT);
        return !lower.startsWith("x-")
                && !lower.startsWith(OURS)
                && !OF_THE_BROKER.contains(name)
                && name.getBytes(StandardCharsets.UTF_8).length <= MAX_NAME_BYTES;
    }

    private static void put(Map<String, Object> headers, String name, @Nullable String value) {
        if (value != null) {
            headers.put(name, value);
        }
    }

    static BasicProperties of(EventEnvelope event, String contentType, Map<String, Object> headers) {
        return new BasicProperties.Builder()
                .messageId(event.eventId())
                .deliveryMode(2)
                .type(shortText(event.eventType()))
                .timestamp(Date.from(event.occurredAt()))
                .contentType(shortText(contentType))
                .correlationId(shortText(header(event, "correlation-id", "correlationId")))
                .headers(headers)
                .build();
    }

    /** What is too long for a property is left out; the body or the headers have it too. */
    private static @Nullable String shortText(@Nullable String text) {
        return text == null || text.getBytes(StandardCharsets.UTF_8).length > MAX_NAME_BYTES ? null : text;
    }

    /** The trace id of the event's {@code traceparent}; null if that is missing or malformed. */
    static @Nullable String traceIdOf(EventEnvelope event) {
        String parent = event.headers().get(Meta.TRACE_PARENT_HEADER);
        var matcher = TRACE_PARENT.matcher(parent == null ? "" : parent);
        return matcher.matches() ? matcher.group(1) : null;
    }

    /** The first of these headers that the event has, in any case. */
    static @Nullable String header(EventEnvelope event, String... names) {
        for (String name : names) {
            for (Map.Entry<String, String> header : event.headers().entrySet()) {
                if (header.getKey().equalsIgnoreCase(name) && !header.getValue().isEmpty()) {
                    return header.getValue();
                }
            }
        }
        return null;
    }
}
