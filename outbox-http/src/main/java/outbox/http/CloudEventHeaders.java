package outbox.http;

import org.jspecify.annotations.Nullable;
import outbox.AggregateType;
import outbox.EventEnvelope;
import outbox.EventHeaders;
import outbox.GiveUpException;

import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The headers of an event as a CloudEvent 1.0 in binary mode. No value can end its header line, whatever the event
 * contains: attributes are percent-encoded as the HTTP binding defines, all other values are checked.
 */
final class CloudEventHeaders {

    private static final Set<String> TAKEN = Set.of( // attributes that a header of the event must not set
            "id",
            "source",
            "specversion",
            "type",
            "time",
            "subject",
            "datacontenttype",
            "data",
            EventHeaders.TRACE_PARENT,
            EventHeaders.TRACE_STATE);
    private static final Pattern ATTRIBUTE = Pattern.compile("[a-z0-9]{1,20}");
    private static final Pattern MEDIA_TYPE = Pattern.compile("[\\w!#$&^.+-]+/[\\w!#$&^.+-]+( *;[ -~]*)?");
    private static final Pattern TRACE_PARENT =
            Pattern.compile("[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-[!-~]*)?");
    private static final Pattern TRACE_STATE = Pattern.compile("[!-~]([ -~]{0,2046}[!-~])?");

    private CloudEventHeaders() {}

    static Map<String, String> of(EventEnvelope event, String source) {
        Map<String, String> headers = new LinkedHashMap<>();
        headers.put("content-type", contentType(event));
        put(headers, "specversion", "1.0");
        put(headers, "id", event.eventId());
        put(headers, "type", event.eventType());
        put(headers, "source", source);
        put(headers, "time", event.occurredAt().toString());
        put(headers, "subject", subject(event));
        event.headers().forEach((name, value) -> {
            if (ATTRIBUTE.matcher(name).matches() && !TAKEN.contains(name) && !value.isEmpty()) {
                put(headers, name, value);
            }
        });
        // after the headers, so that the values of the envelope and the table win
        put(headers, "tenantid", event.tenantId());
        put(headers, "schemaversion", event.headers().get(EventHeaders.SCHEMA_VERSION));
        put(headers, "correlationid", event.correlationId());
        put(headers, "causationid", event.causationId());
        put(headers, "sequence", event.headers().get(EventHeaders.SEQUENCE));
        putTrace(headers, event);
        return headers;
    }

    private static void put(Map<String, String> headers, String attribute, @Nullable String value) {
        if (value != null) {
            headers.put("ce-" + attribute, encode(value));
        }
    }

    private static @Nullable String subject(EventEnvelope event) {
        String id = event.aggregateId();
        boolean typed = !event.aggregateType().equals(AggregateType.GLOBAL.name());
        return id == null || !typed ? id : event.aggregateType() + "/" + id;
    }

    private static String contentType(EventEnvelope event) {
        String given = header(event, "content-type");
        if (given == null || given.isEmpty()) {
            return event.isBinary() ? "application/octet-stream" : "application/json";
        }
        if (!MEDIA_TYPE.matcher(given).matches()) {
            throw new GiveUpException("The header content-type of event " + encode(event.eventId())
                    + " is not a media type, so receivers could not read the payload: " + encode(given));
        }
        return given;
    }

    /** Adds the trace context. Skips an invalid one, so that tracing never fails a delivery. */
    private static void putTrace(Map<String, String> headers, EventEnvelope event) {
        String parent = header(event, EventHeaders.TRACE_PARENT);
        if (parent == null || !TRACE_PARENT.matcher(parent).matches()) {
            return;
        }
        headers.put(EventHeaders.TRACE_PARENT, parent);
        String state = header(event, EventHeaders.TRACE_STATE);
        if (state != null && TRACE_STATE.matcher(state).matches()) {
            headers.put(EventHeaders.TRACE_STATE, state);
        }
    }

    private static @Nullable String header(EventEnvelope event, String name) {
        for (Map.Entry<String, String> header : event.headers().entrySet()) {
            if (header.getKey().equalsIgnoreCase(name)) {
                return header.getValue();
            }
        }
        return null;
    }

    /** Percent-encodes space, quote, percent and all characters that are not printable ASCII. */
    static String encode(String value) {
        StringBuilder encoded = new StringBuilder(value.length());
        for (byte b : value.getBytes(StandardCharsets.UTF_8)) {
            if (b > ' ' && b < 0x7f && b != '"' && b != '%') {
                encoded.append((char) b);
            } else {
                encoded.append('%')
                        .append(Character.toUpperCase(Character.forDigit(b >> 4 & 15, 16)))
                        .append(Character.toUpperCase(Character.forDigit(b & 15, 16)));
            }
        }
        return encoded.toString();
    }
}
