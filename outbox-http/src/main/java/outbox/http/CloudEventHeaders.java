package outbox.http;

import org.jspecify.annotations.Nullable;
import outbox.AggregateType;
import outbox.EventEnvelope;
import outbox.GiveUpException;
import outbox.relay.Meta;

import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The headers of an event as a CloudEvent 1.0 in binary mode. Whatever the event contains, no value of them has a character that could end it: attributes are percent-encoded as the
 * binding for HTTP says, the rest is checked.
 */
final class CloudEventHeaders {

    private static final Set<String> TAKEN = Set.of( // attributes that an event's header does not set
            "id",
            "source",
            "specversion",
            "type",
            "time",
            "subject",
            "datacontenttype",
            "data",
            "traceparent",
            "tracestate");
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
        put(headers, "tenantid", event.tenantId()); // after the headers: the word of envelope and table counts
        put(headers, "schemaversion", event.headers().get(EventEnvelope.SCHEMA_VERSION_HEADER));
        put(headers, "correlationid", event.correlationId());
        put(headers, "causationid", event.causationId());
        put(headers, "sequence", event.headers().get(Meta.SEQUENCE_HEADER));
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
                    + " is no media type, so nobody could read the payload: " + encode(given));
        }
        return given;
    }

    /** What is no trace context is not sent: tracing must not cost a delivery. */
    private static void putTrace(Map<String, String> headers, EventEnvelope event) {
        String parent = header(event, "traceparent");
        if (parent == null || !TRACE_PARENT.matcher(parent).matches()) {
            return;
        }
        headers.put("traceparent", parent);
        String state = header(event, "tracestate");
        if (state != null && TRACE_STATE.matcher(state).matches()) {
            headers.put("tracestate", state);
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

    /** Percent-encodes blank, quote, percent and everything that is no printable ASCII. */
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
