package outbox.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import org.jspecify.annotations.Nullable;
import outbox.AggregateType;
import outbox.EventEnvelope;
import outbox.EventHeaders;

import java.nio.charset.StandardCharsets;
import java.util.Date;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/** Properties and headers that both message formats set. */
final class CommonProperties {

    private static final Set<String> OF_THE_BROKER =
            Set.of("CC", "BCC"); // further routing keys; a string value here makes the broker close the channel
    private static final int MAX_NAME_BYTES = 255; // limit of an AMQP short string
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
        if (traceIdOf(event) == null) { // do not send an invalid trace context
            headers.remove(EventHeaders.TRACE_PARENT);
            headers.remove(EventHeaders.TRACE_STATE);
        }
        if (!event.aggregateType().equals(AggregateType.GLOBAL.name())) {
            headers.put(EventHeaders.AGGREGATE_TYPE, event.aggregateType());
        }
        put(headers, EventHeaders.AGGREGATE_ID, event.aggregateId());
        put(headers, EventHeaders.TENANT_ID, event.tenantId());
        put(headers, EventHeaders.SEQUENCE, event.headers().get(EventHeaders.SEQUENCE));
        return headers;
    }

    private static boolean isCarried(String name) {
        String lower = name.toLowerCase(Locale.ROOT);
        return !lower.startsWith("x-")
                && !lower.startsWith(EventHeaders.RESERVED_PREFIX)
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

    /** Returns null if the text is too long for a property. The body or the headers also contain it. */
    private static @Nullable String shortText(@Nullable String text) {
        return text == null || text.getBytes(StandardCharsets.UTF_8).length > MAX_NAME_BYTES ? null : text;
    }

    /** Returns the trace id of the event's {@code traceparent}, or null if the header is missing or malformed. */
    static @Nullable String traceIdOf(EventEnvelope event) {
        String parent = event.headers().get(EventHeaders.TRACE_PARENT);
        var matcher = TRACE_PARENT.matcher(parent == null ? "" : parent);
        return matcher.matches() ? matcher.group(1) : null;
    }

    /** Returns the value of the first of these headers that the event has. Names are not case-sensitive. */
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
