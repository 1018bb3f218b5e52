package outbox;

import org.jspecify.annotations.Nullable;
import outbox.internal.EventRules;
import outbox.internal.SystemTime;
import outbox.internal.Ulid;
import outbox.model.OutboxEvent;
import outbox.util.JsonCodec;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;

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
    public static final int MAX_DEDUP_KEY_LENGTH = 128;
    public static final int MAX_PRIORITY = 9;

    /** Of a correlation or causation id. */
    public static final int MAX_LINK_LENGTH = 128;

    /** The header that holds {@link #schemaVersion}, unless it is 1. */
    public static final String SCHEMA_VERSION_HEADER = EventRules.RESERVED_HEADER_PREFIX + "schema-version";

    /** The header that holds {@link #correlationId}. */
    public static final String CORRELATION_HEADER = EventRules.RESERVED_HEADER_PREFIX + "correlation-id";

    /** The header that holds {@link #causationId}. */
    public static final String CAUSATION_HEADER = EventRules.RESERVED_HEADER_PREFIX + "causation-id";

    private final String eventId;
    private final @Nullable AtomicBoolean freshId; // true until an insert has used the id; null for one that was given
    private final String eventType;
    private final Instant occurredAt;
    private final String aggregateType;
    private final @Nullable String aggregateId;
    private final @Nullable String tenantId;
    private final Map<String, String> headers;
    private final @Nullable String payloadJson; // exactly one of the two is set
    private final byte @Nullable [] payloadBytes;
    private final int payloadSize;
    private final @Nullable String dedupKey;
    private final @Nullable Duration dedupFor;
    private final int priority;
    private final @Nullable Instant availableAt; // an instruction for the write, as the two durations
    private final @Nullable Duration deliverAfter;
    private final @Nullable Instant expiresAt;
    private final @Nullable Duration expireAfter;

    private EventEnvelope(Builder builder) {
        eventId = builder.eventId != null ? builder.eventId : Ulid.next();
        freshId = builder.eventId != null ? builder.freshId : new AtomicBoolean(true);
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
        dedupKey = builder.dedupKey;
        dedupFor = builder.dedupFor;
        priority = builder.priority;
        availableAt = builder.availableAt;
        deliverAfter = builder.deliverAfter;
        expiresAt = builder.expiresAt;
        expireAfter = builder.expireAfter;
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
        EventRules.checkTime("occurredAt", occurredAt);
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
        builder.dedupKey = row.dedupKey();
        builder.dedupFor = row.dedupFor();
        builder.priority = row.priority();
        builder.expiresAt = row.expiresAt();
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
        Builder builder = copy();
        builder.headers.put(name, value);
        return new EventEnvelope(builder);
    }

    /** With those of the headers that it does not have yet; refused like headers of a builder. */
    EventEnvelope withMoreHeaders(Map<String, String> more) {
        Builder builder = copy();
        more.forEach((name, value) -> {
            if (!headers.containsKey(name)) {
                builder.header(name, value);
            }
        });
        EventEnvelope enriched = new EventEnvelope(builder);
        EventRules.checkHeaders(enriched.headers);
        return enriched;
    }

    /**
     * With what is relative to the write counted from it. The database's time is known within bounds.
     *
     * @param earliest a due time that is not after it has come
     * @param latest what spans are counted from
     */
    EventEnvelope writtenAt(Instant earliest, Instant latest) {
        Builder builder = copy();
        Instant due = deliverAfter != null ? latest.plus(deliverAfter) : availableAt;
        builder.availableAt = due == null || !due.isAfter(earliest) ? null : due; // null: like any other
        builder.deliverAfter = null;
        builder.expiresAt = expireAfter != null ? latest.plus(expireAfter) : expiresAt;
        builder.expireAfter = null;
        return new EventEnvelope(builder);
    }

    /** Whether it asks for more than a store of the specification can give. */
    boolean isControlled() {
        return isTimed() || dedupKey != null || priority != 0 || expiresAt != null;
    }

    /** Whether something in it depends on the time of the write. */
    boolean isTimed() {
        return availableAt != null || deliverAfter != null || expireAfter != null;
    }

    private Builder copy() {
        Builder builder = new Builder(eventType)
                .eventId(eventId)
                .occurredAt(occurredAt)
                .aggregateType(aggregateType)
                .aggregateId(aggregateId)
                .tenantId(tenantId);
        builder.freshId = freshId;
        builder.headers.putAll(headers);
        builder.payloadJson = payloadJson;
        builder.payloadBytes = payloadBytes;
        builder.dedupKey = dedupKey;
        builder.dedupFor = dedupFor;
        builder.priority = priority;
        builder.availableAt = availableAt;
        builder.deliverAfter = deliverAfter;
        builder.expiresAt = expiresAt;
        builder.expireAfter = expireAfter;
        return builder;
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

    /**
     * For stores, once per insert: whether the library made the id and no insert has used it yet. Then no row can have it, and the insert need not provide for that. An id that was
     * given, or the second try of a transaction, may meet its row.
     */
    public boolean takeFreshId() {
        return freshId != null && freshId.getAndSet(false);
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

    /** The key that at most one unfinished event has. */
    public @Nullable String dedupKey() {
        return dedupKey;
    }

    /** How long the event keeps its key after it is done; null if it does not. */
    public @Nullable Duration dedupFor() {
        return dedupFor;
    }

    /** 0 to {@value #MAX_PRIORITY}; larger first. */
    public int priority() {
        return priority;
    }

    /** When the event becomes due, for the one who writes it. An event that was delivered does not tell: a retry would have changed it. */
    public @Nullable Instant availableAt() {
        return availableAt;
    }

    /** How long after its write the event becomes due. Null once it was written. */
    public @Nullable Duration deliverAfter() {
        return deliverAfter;
    }

    /** The time by which the event must have been started, else it is dead. */
    public @Nullable Instant expiresAt() {
        return expiresAt;
    }

    /** How long after its write the event expires. Null once it was written; then {@link #expiresAt} tells. */
    public @Nullable Duration expireAfter() {
        return expireAfter;
    }

    /**
     * The version of the payload's form, 1 unless the builder said otherwise.
     *
     * @throws InvalidEventException if another program wrote something else than a positive number into its header
     */
    public int schemaVersion() {
        String version = headers.get(SCHEMA_VERSION_HEADER);
        if (version == null) {
            return 1;
        }
        try {
            return EventRules.checkSchemaVersion(Integer.parseInt(version));
        } catch (NumberFormatException e) {
            throw new InvalidEventException("Header " + SCHEMA_VERSION_HEADER + " of event " + eventId
                    + " is not a version: " + EventRules.show(version));
        }
    }

    /** What the event belongs to, such as the request that all of it began with. */
    public @Nullable String correlationId() {
        return headers.get(CORRELATION_HEADER);
    }

    /** What the event follows from, such as the id of another event. */
    public @Nullable String causationId() {
        return headers.get(CAUSATION_HEADER);
    }

    /** Equal when everything that is stored, and stays as it is, is equal. */
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
                && Objects.equals(dedupKey, that.dedupKey)
                && Objects.equals(dedupFor, that.dedupFor)
                && priority == that.priority
                && Objects.equals(expiresAt, that.expiresAt)
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
        private @Nullable AtomicBoolean freshId; // of the envelope that is copied
        private @Nullable Instant occurredAt;
        private String aggregateType = AggregateType.GLOBAL.name();
        private @Nullable String aggregateId;
        private @Nullable String tenantId;
        private final Map<String, String> headers = new LinkedHashMap<>();
        private @Nullable String payloadJson;
        private byte @Nullable [] payloadBytes;
        private @Nullable String dedupKey;
        private @Nullable Duration dedupFor;
        private int priority;
        private @Nullable Instant availableAt;
        private @Nullable Duration deliverAfter;
        private @Nullable Instant expiresAt;
        private @Nullable Duration expireAfter;

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

        /**
         * At most one unfinished event of the table has this key. What becomes of a second one is the writer's choice, see {@link OutboxWriter#refusingDuplicates}. At most
         * {@value EventEnvelope#MAX_DEDUP_KEY_LENGTH} characters.
         */
        public Builder dedupKey(String dedupKey) {
            this.dedupKey = EventRules.checkDedupKey(dedupKey);
            return this;
        }

        /** The key stays taken for so long after the event was delivered. Default: it is free at once. Kept in milliseconds. */
        public Builder dedupFor(Duration dedupFor) {
            this.dedupFor = EventRules.checkSpan("dedupFor", dedupFor).truncatedTo(ChronoUnit.MILLIS);
            return this;
        }

        /** Among due events, larger ones are delivered first, as far as order within an aggregate allows. 0, the default, to {@value EventEnvelope#MAX_PRIORITY}. */
        public Builder priority(int priority) {
            this.priority = EventRules.checkPriority(priority);
            return this;
        }

        /** Not delivered before this time of the database's clock. Default: at once. Kept in microseconds. */
        public Builder availableAt(Instant availableAt) {
            this.availableAt =
                    EventRules.checkDueTime("availableAt", availableAt).truncatedTo(ChronoUnit.MICROS);
            return this;
        }

        /** Not delivered before so much time has passed since the write, by the database's clock. */
        public Builder deliverAfter(Duration deliverAfter) {
            this.deliverAfter = EventRules.checkSpan("deliverAfter", deliverAfter);
            return this;
        }

        /** An event that was not started by this time of the database's clock is dead. Default: never. Kept in microseconds. */
        public Builder expiresAt(Instant expiresAt) {
            this.expiresAt = EventRules.checkTime("expiresAt", expiresAt).truncatedTo(ChronoUnit.MICROS);
            return this;
        }

        /** Like {@link #expiresAt}, so long after the write. */
        public Builder expireAfter(Duration expireAfter) {
            this.expireAfter = EventRules.checkSpan("expireAfter", expireAfter);
            return this;
        }

        /** The version of the payload's form; at least 1, the default. */
        public Builder schemaVersion(int schemaVersion) {
            EventRules.checkSchemaVersion(schemaVersion);
            return reserved(SCHEMA_VERSION_HEADER, schemaVersion == 1 ? null : Integer.toString(schemaVersion));
        }

        /** What the event belongs to; default nothing. At most {@value EventEnvelope#MAX_LINK_LENGTH} characters. */
        public Builder correlationId(@Nullable String correlationId) {
            return reserved(CORRELATION_HEADER, checkLink("correlationId", correlationId));
        }

        /** What the event follows from; default nothing. At most {@value EventEnvelope#MAX_LINK_LENGTH} characters. */
        public Builder causationId(@Nullable String causationId) {
            return reserved(CAUSATION_HEADER, checkLink("causationId", causationId));
        }

        private static @Nullable String checkLink(String field, @Nullable String value) {
            return value == null ? null : checkName(field, value, MAX_LINK_LENGTH);
        }

        private Builder reserved(String name, @Nullable String value) {
            if (value == null) {
                headers.remove(name);
            } else {
                headers.put(name, value);
            }
            return this;
        }

        /**
         * Like {@link #build}, with {@code type:aggregateId:schemaVersion} as the {@code dedupKey} if none was given. Refused without an aggregate id, since all events of the type would
         * be one.
         */
        public EventEnvelope buildKeyed() {
            if (dedupKey != null) {
                return build();
            }
            if (aggregateId == null) {
                throw new InvalidEventException("An event of type " + EventRules.show(eventType)
                        + " has no aggregateId, so it has no default dedupKey. Give one of the two.");
            }
            String version = headers.getOrDefault(SCHEMA_VERSION_HEADER, "1");
            dedupKey = EventRules.checkDedupKey(DedupKeys.version(eventType, aggregateId, version));
            try {
                return build();
            } finally {
                dedupKey = null; // the next event of this builder may have another aggregate
            }
        }

        /** The event; without a {@code dedupKey} unless one was given. */
        public EventEnvelope build() {
            refuseBoth("availableAt", availableAt, "deliverAfter", deliverAfter);
            refuseBoth("expiresAt", expiresAt, "expireAfter", expireAfter);
            if (dedupFor != null && dedupKey == null) {
                throw new InvalidEventException(
                        "An event of type " + EventRules.show(eventType) + " has dedupFor, but no dedupKey");
            }
            if ((payloadJson == null) == (payloadBytes == null)) {
                throw new InvalidEventException("An event of type " + EventRules.show(eventType)
                        + " needs exactly one of payloadJson and payloadBytes");
            }
            return new EventEnvelope(this).checked();
        }

        private void refuseBoth(String one, @Nullable Object first, String other, @Nullable Object second) {
            if (first != null && second != null) {
                throw new InvalidEventException("An event of type " + EventRules.show(eventType) + " has both " + one
                        + " and " + other + "; give one of them");
            }
        }
    }
}
