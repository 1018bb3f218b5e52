package outbox.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import org.jspecify.annotations.Nullable;
import outbox.EventHeaders;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Parses the event from a message in any of the supported formats. */
final class MessageParser {

    private static final List<String> PREFIXES = List.of("cloudEvents_", "cloudEvents:");
    private static final Pattern TRACE_PARENT =
            Pattern.compile("[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}.*");

    @Nullable
    String eventId;

    @Nullable
    String eventType;

    @Nullable
    String aggregateType;

    @Nullable
    String aggregateId;

    @Nullable
    Instant occurredAt;

    @Nullable
    String traceId;

    private byte @Nullable [] payload;

    private MessageParser() {}

    static MessageParser parse(BasicProperties properties, byte[] body) {
        MessageParser parser = new MessageParser();
        String contentType = properties.getContentType() == null ? "" : properties.getContentType();
        if (contentType.toLowerCase(Locale.ROOT).startsWith("application/cloudevents+json")) {
            parser.structured(JsonObject.parse(body));
        } else if (attribute(properties, "specversion") != null || attribute(properties, "id") != null) {
            parser.binary(properties, body);
        } else {
            parser.contract(JsonObject.parse(body));
        }
        if (parser.traceId == null) {
            parser.traceId = traceId(MessageHeaders.text(properties, EventHeaders.TRACE_PARENT));
        }
        return parser;
    }

    private void contract(JsonObject json) {
        eventId = json.text("eventId");
        eventType = json.text("eventType");
        aggregateType = json.text("aggregateType");
        aggregateId = json.text("aggregateId");
        occurredAt = time("occurredAt", json.text("occurredAt"));
        traceId = json.text("traceId");
        payload = json.raw("payload");
    }

    private void structured(JsonObject json) {
        eventId = json.text("id");
        eventType = json.text("type");
        subject(json.text("subject"));
        occurredAt = time("time", json.text("time"));
        traceId = traceId(json.text(EventHeaders.TRACE_PARENT));
        String base64 = json.text("data_base64");
        try {
            payload = base64 == null ? json.raw("data") : Base64.getDecoder().decode(base64);
        } catch (IllegalArgumentException e) {
            throw new UnrecoverableMessageException("data_base64 is not Base64", e);
        }
    }

    private void binary(BasicProperties properties, byte[] body) {
        eventId = attribute(properties, "id");
        eventType = attribute(properties, "type");
        subject(attribute(properties, "subject"));
        // set by our transport, so no need to parse the subject
        String ownId = MessageHeaders.text(properties, EventHeaders.AGGREGATE_ID);
        if (ownId != null) {
            aggregateType = MessageHeaders.text(properties, EventHeaders.AGGREGATE_TYPE);
            aggregateId = ownId;
        }
        occurredAt = time("time", attribute(properties, "time"));
        traceId = traceId(attribute(properties, EventHeaders.TRACE_PARENT));
        payload = body;
    }

    /** Splits the subject. Our transports send aggregate type and id, separated by a slash. */
    private void subject(@Nullable String subject) {
        if (subject != null) {
            int slash = subject.indexOf('/');
            aggregateType = slash > 0 ? subject.substring(0, slash) : null;
            aggregateId = subject.substring(slash + 1);
        }
    }

    private static @Nullable String attribute(BasicProperties properties, String name) {
        for (String prefix : PREFIXES) {
            String value = MessageHeaders.text(properties, prefix + name);
            if (value != null) {
                return value;
            }
        }
        return null;
    }

    private static @Nullable Instant time(String name, @Nullable String text) {
        try {
            return text == null ? null : OffsetDateTime.parse(text).toInstant();
        } catch (DateTimeException e) {
            throw new UnrecoverableMessageException(name + " is not a date-time with an offset", e);
        }
    }

    private static @Nullable String traceId(@Nullable String traceParent) {
        Matcher matcher = TRACE_PARENT.matcher(traceParent == null ? "" : traceParent);
        return matcher.matches() ? matcher.group(1) : null;
    }

    String required(String what, @Nullable String value) {
        if (value == null || value.isBlank()) {
            throw new UnrecoverableMessageException("The message has no " + what);
        }
        return value;
    }

    byte[] requiredPayload() {
        if (payload == null) {
            throw new UnrecoverableMessageException("The message of event " + eventId + " has no payload");
        }
        return payload;
    }
}
