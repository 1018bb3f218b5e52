package outbox;

import org.jspecify.annotations.Nullable;
import outbox.internal.EventRules;
import outbox.internal.SystemTime;
import outbox.internal.Ulid;
import outbox.model.OutboxEvent;
import outbox.util.JsonCodec;

import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

import static outbox.internal.EventRules.checkId;
import static outbox.internal.EventRules.checkName;

/**
 * An event with its identity, time and headers, exactly as it is stored and as every listener receives it. Immutable.
 *
 * <p>What cannot be stored on every database is refused by {@link Builder#build()} with an {@link InvalidEventException}: an oversized payload, NUL characters, lone
 * surrogates, names beyond the length of their column. The payload is opaque; it is stored and delivered as it was given.
 */
public final class EventEnvelope {

    /** Largest payload, in bytes of UTF-8. */
    public static final int MAX_PAYLOAD_BYTES = 1_048_576;

    public static final int MAX_EVENT_ID_LENGTH = 36;
    public static final int MAX_EVENT_TYPE_LENGTH = 128;
    public static final int MAX_AGGREGATE_TYPE_LENGTH = 64;
    public static final int MAX_AGGREGATE_ID_LENGTH = 128;
    public static final int MAX_TENANT_ID_LENGTH = 64;

    private final String eventId;
    private final String eventType;
    private final Instant occurredAt;
    private final String aggregateType;
    private final @Nullable String aggregateId;
    private final @Nullable String tenantId;
    private final Map<String, String> headers;
    private final @Nullable String payloadJson; // exactly one of the two is set
    private final byte @Nullable [] payloadBytes;
    private final int payloadSize;

    private EventEnvelope(Builder builder) {
        eventId = builder.eventId != null ? builder.eventId : Ulid.next();
        eventType = builder.eventType;
        occurredAt = builder.occurredAt != null ? builder.occurredAt : SystemTime.now();
        aggregateType = builder.aggregateType;
        aggregateId = builder.aggregateId;
        tenantId = builder.tenantId;
        headers = Collections.unmodifiableMap(new LinkedHashMap<>(builder.headers));
        payloadJson = builder.payloadJson;
        payloadBytes = builder.payloadBytes; // the builder copied it
        payloadSize = payloadJson != null
                ? EventRules.checkText(eventId, payloadJson)
                : Objects.requireNonNull(payloadBytes).length;
    }

    /** The refusals of {@link Builder#build()}. A restored envelope does not pass here: what is in the table must reach its listener. */
    private EventEnvelope checked() {
        checkId(eventId);
        checkName("eventType", eventType, MAX_EVENT_TYPE_LENGTH);
        checkName("aggregateType", aggregateType, MAX_AGGREGATE_TYPE_LENGTH);
        if (aggregateId != null) {
            checkName("aggregateId", aggregateId, MAX_AGGREGATE_ID_LENGTH);
        }
        if (tenantId != null) {
            checkName("tenantId", tenantId, MAX_TENANT_ID_LENGTH);
        }
        EventRules.checkOccurredAt(occurredAt);
        EventRules.checkHeaders(headers);
        if (payloadSize > MAX_PAYLOAD_BYTES) {
            throw new InvalidEventException("The payload of event " + eventId + " (type " + EventRules.show(eventType)
                    + ") has " + payloadSize + " bytes; at most " + MAX_PAYLOAD_BYTES
                    + " are allowed. Store large content elsewhere and send a reference.");
        }
        return this;
    }

    /**
     * The envelope that a row was written from. Where the table does not keep the time of the fact, it is the time at which the row was stored.
     *
     * @throws IllegalArgumentException if the row cannot be decoded, such as for malformed headers
     */
    public static EventEnvelope restore(OutboxEvent row) {
        Builder builder = new Builder(row.eventType())
                .eventId(row.eventId())
                .occurredAt(row.occurredAt() != null ? row.occurredAt() : row.createdAt())
                .aggregateId(row.aggregateId())
                .tenantId(row.tenantId());
        if (row.aggregateType() != null) {
            builder.aggregateType(row.aggregateType());
        }
        builder.headers.putAll(JsonCodec.parseObject(row.headersJson()));
        if (row.payloadBytes() != null) {
            builder.payloadBytes(row.payloadBytes());
        } else {
            builder.payloadJson(row.payloadJson());
        }
        return new EventEnvelope(builder);
    }

    EventEnvelope withReservedHeader(String name, String value) {
        Builder builder = new Builder(eventType)
                .eventId(eventId)
                .occurredAt(occurredAt)
                .aggregateType(aggregateType)
                .aggregateId(aggregateId)
                .tenantId(tenantId);
        builder.headers.putAll(headers);
        builder.headers.put(name, value);
        builder.payloadJson = payloadJson;
        builder.payloadBytes = payloadBytes;
        return new EventEnvelope(builder);
    }

    public static Builder builder(EventType eventType) {
        return new Builder(eventType.name());
    }

    public static Builder builder(String eventType) {
        return new Builder(eventType);
    }

    public static EventEnvelope ofJson(EventType eventType, String payloadJson) {
        return builder(eventType).payloadJson(payloadJson).build();
    }

    public static EventEnvelope ofJson(String eventType, String payloadJson) {
        return builder(eventType).payloadJson(payloadJson).build();
    }

    public String eventId() {
        return eventId;
    }

    public String eventType() {
        return eventType;
    }

    /** When the fact happened, in microseconds; not when the event was stored. */
    public Instant occurredAt() {
        return occurredAt;
    }

    public String aggregateType() {
        return aggregateType;
    }

    public @Nullable String aggregateId() {
        return aggregateId;
    }

    public @Nullable String tenantId() {
        return tenantId;
    }

    /** The headers in the order in which they were given; unmodifiable. */
    public Map<String, String> headers() {
        return headers;
    }

    /** The payload as text; a payload given as bytes is decoded as UTF-8. */
    public String payloadJson() {
        return payloadJson != null
                ? payloadJson
                : new String(Objects.requireNonNull(payloadBytes), StandardCharsets.UTF_8);
    }

    /** The payload as bytes, a fresh copy each time; a payload given as text is encoded as UTF-8. */
    public byte[] payloadBytes() {
        return payloadBytes != null
                ? payloadBytes.clone()
                : Objects.requireNonNull(payloadJson).getBytes(StandardCharsets.UTF_8);
    }

    /** Whether the payload was given as bytes and must be kept as bytes. */
    public boolean isBinary() {
        return payloadBytes != null;
    }

    /** Size of the payload in bytes of UTF-8. */
    public int payloadSize() {
        return payloadSize;
    }

    /** Equal when everything that is stored is equal. */
    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof EventEnvelope that
                && eventId.equals(that.eventId)
                && eventType.equals(that.eventType)
                && occurredAt.equals(that.occurredAt)
                && aggregateType.equals(that.aggregateType)
                && Objects.equals(aggregateId, that.aggregateId)
                && Objects.equals(tenantId, that.tenantId)
                && headers.equals(that.headers)
                && Objects.equals(payloadJson, that.payloadJson)
                && Arrays.equals(payloadBytes, that.payloadBytes);
    }

    @Override
    public int hashCode() {
        return eventId.hashCode();
    }

    /** Names the event without its payload, which may be confidential. */
    @Override
    public String toString() {
        return "EventEnvelope[" + eventId + ", type " + EventRules.show(eventType) + ", aggregate "
                + EventRules.show(aggregateType)
                + (aggregateId == null ? "" : "/" + EventRules.show(aggregateId)) + ", " + payloadSize + " bytes]";
    }

    /** Collects the parts of an envelope; not thread-safe. */
    public static final class Builder {

        private final String eventType;
        private @Nullable String eventId;
        private @Nullable Instant occurredAt;
        private String aggregateType = AggregateType.GLOBAL.name();
        private @Nullable String aggregateId;
        private @Nullable String tenantId;
        private final Map<String, String> headers = new LinkedHashMap<>();
        private @Nullable String payloadJson;
        private byte @Nullable [] payloadBytes;

        private Builder(String eventType) {
            this.eventType = Objects.requireNonNull(eventType, "eventType");
        }

        /** Default: a monotonic ULID. At most {@value EventEnvelope#MAX_EVENT_ID_LENGTH} characters. */
        public Builder eventId(String eventId) {
            this.eventId = Objects.requireNonNull(eventId, "eventId");
            return this;
        }

        /** Default: now. Kept in microseconds. */
        public Builder occurredAt(Instant occurredAt) {
            this.occurredAt = occurredAt.truncatedTo(ChronoUnit.MICROS);
            return this;
        }

        /** Default: {@link AggregateType#GLOBAL}. */
        public Builder aggregateType(AggregateType aggregateType) {
            return aggregateType(aggregateType.name());
        }

        public Builder aggregateType(String aggregateType) {
            this.aggregateType = Objects.requireNonNull(aggregateType, "aggregateType");
            return this;
        }

        public Builder aggregateId(@Nullable String aggregateId) {
            this.aggregateId = aggregateId;
            return this;
        }

        public Builder tenantId(@Nullable String tenantId) {
            this.tenantId = tenantId;
            return this;
        }

        /** Adds all given headers; see {@link #header}. */
        public Builder headers(Map<String, String> headers) {
            headers.forEach(this::header);
            return this;
        }

        /** Adds a header, replacing one of the same name. An absent value is kept as the empty string, on every path. */
        public Builder header(String name, @Nullable String value) {
            headers.put(
                    EventRules.checkHeaderName(name), EventRules.checkHeaderValue(name, value == null ? "" : value));
            return this;
        }

        public Builder payloadJson(String payloadJson) {
            this.payloadJson = Objects.requireNonNull(payloadJson, "payloadJson");
            return this;
        }

        /** The payload as bytes that need not be text. The array is copied. */
        public Builder payloadBytes(byte[] payloadBytes) {
            this.payloadBytes = payloadBytes.clone();
            return this;
        }

        public EventEnvelope build() {
            if ((payloadJson == null) == (payloadBytes == null)) {
                throw new InvalidEventException("An event of type " + EventRules.show(eventType)
                        + " needs exactly one of payloadJson and payloadBytes");
            }
            return new EventEnvelope(this).checked();
        }
    }
}
