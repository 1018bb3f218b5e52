package outbox.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import org.jspecify.annotations.Nullable;

import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;

/**
 * An event that was received from a queue, in the JSON contract or as a CloudEvent in binary or structured mode.
 * Immutable.
 */
public final class ReceivedMessage {

    private final String eventId;
    private final String eventType;
    private final @Nullable String aggregateType;
    private final @Nullable String aggregateId;
    private final @Nullable Instant occurredAt;
    private final @Nullable String traceId;
    private final byte[] payload;
    private final Map<String, String> headers;
    private final int redeliveries;

    ReceivedMessage(MessageParser parsed, BasicProperties properties) {
        eventId = parsed.required("event id", parsed.eventId);
        eventType = parsed.required("event type", parsed.eventType);
        aggregateType = parsed.aggregateType;
        aggregateId = parsed.aggregateId;
        occurredAt = parsed.occurredAt;
        traceId = parsed.traceId;
        payload = parsed.requiredPayload();
        headers = Collections.unmodifiableMap(MessageHeaders.texts(properties));
        redeliveries = MessageHeaders.number(properties, MessageHeaders.REDELIVERIES);
    }

    /**
     * Parses a message.
     *
     * @throws UnrecoverableMessageException if it has another format, or lacks its id, type or payload
     */
    public static ReceivedMessage parse(BasicProperties properties, byte[] body) {
        return new ReceivedMessage(MessageParser.parse(properties, body), properties);
    }

    public String eventId() {
        return eventId;
    }

    public String eventType() {
        return eventType;
    }

    public Optional<String> aggregateType() {
        return Optional.ofNullable(aggregateType);
    }

    /** A number is returned as text. */
    public Optional<String> aggregateId() {
        return Optional.ofNullable(aggregateId);
    }

    public Optional<Instant> occurredAt() {
        return Optional.ofNullable(occurredAt);
    }

    public Optional<String> traceId() {
        return Optional.ofNullable(traceId);
    }

    /** Returns the payload as text, exactly as it was sent. */
    public String payload() {
        return new String(payload, StandardCharsets.UTF_8);
    }

    public byte[] payloadBytes() {
        return payload.clone();
    }

    /** Returns the message headers with simple values, such as texts and numbers. */
    public Map<String, String> headers() {
        return headers;
    }

    /** Returns the number of redeliveries as a copy after counted failures; 0 with {@link Redelivery#REQUEUE}. */
    public int redeliveries() {
        return redeliveries;
    }

    /** Does not contain the payload. */
    @Override
    public String toString() {
        return "event " + eventId + " (type " + eventType + (traceId == null ? "" : ", trace " + traceId) + ")";
    }
}
