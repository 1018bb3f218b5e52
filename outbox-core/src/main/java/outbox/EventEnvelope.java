package outbox;

import org.jspecify.annotations.Nullable;
import outbox.internal.EnvelopeAccess;
import outbox.internal.EventRules;
import outbox.internal.HandOver;
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
 * An event with its identity, time and headers, exactly as it is stored and as every listener receives
 * it. Immutable.
 *
 * <p>{@link Builder#build()} rejects events that some supported database cannot store, with an
 * {@link InvalidEventException}: a payload that is too large, NUL characters, unpaired surrogates, and names longer
 * than their column. The payload is opaque; it is stored and delivered unchanged.
 */
public final class EventEnvelope {

    /** The largest payload, in UTF-8 bytes. */
    public static final int MAX_PAYLOAD_BYTES = 1_048_576;

    public static final int MAX_EVENT_ID_LENGTH = 36;
    public static final int MAX_EVENT_TYPE_LENGTH = 128;
    public static final int MAX_AGGREGATE_TYPE_LENGTH = 64;
    public static final int MAX_AGGREGATE_ID_LENGTH = 128;
    public static final int MAX_TENANT_ID_LENGTH = 64;
    public static final int MAX_DEDUP_KEY_LENGTH = 128;
    public static final int MAX_PRIORITY = 9;

    /** The maximum length of a correlation id or causation id. */
    public static final int MAX_LINK_LENGTH = 128;

    static {
        EnvelopeAccess.provide(new EnvelopeAccess() {
            @Override
            public EventEnvelope restore(OutboxEvent row, HandOver handOver) {
                return EventEnvelope.restore(row, handOver);
            }

            @Override
            public @Nullable HandOver handOver(EventEnvelope event) {
                return event.handOver;
            }

            @Override
            public EventEnvelope withHeaders(EventEnvelope event, Map<String, String> headers) {
                Builder builder = event.copy();
                builder.headers.putAll(headers);
                return new EventEnvelope(builder);
            }
        });
    }

    private final String eventId;
    private final @Nullable AtomicBoolean freshId; // true until an insert used the id; null if the caller set the id
    private final String eventType;
    private final Instant occurredAt;
    private final String aggregateType;
    private final @Nullable String aggregateId;
    private final @Nullable String tenantId;
    private final Map<String, String> headers;
    private final @Nullable String payloadJson; // exactly one of payloadJson and payloadBytes is set
    private final byte @Nullable [] payloadBytes;
    private final int payloadSize;
    private final @Nullable String dedupKey;
    private final @Nullable Duration dedupFor;
    private final int priority;
    private final @Nullable Instant availableAt; // like both durations below, read only by the write
    private final @Nullable Duration deliverAfter;
    private final @Nullable Instant expiresAt;
    private final @Nullable Duration expireAfter;
    private final @Nullable HandOver handOver; // set only if a poller claimed the event

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
        payloadBytes = builder.payloadBytes; // the builder has already copied the array
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
        handOver = builder.handOver;
    }

    /**
     * Applies the checks of {@link Builder#build()}. A restored envelope is not checked, because an event that is
     * already in the table must reach its listener.
     */
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
     * Restores the envelope that a row was written from. If the table does not store when the fact happened,
     * {@link #occurredAt} is the time at which the row was stored.
     *
     * @throws IllegalArgumentException if the row cannot be decoded, for example because its headers are malformed
     */
    public static EventEnvelope restore(OutboxEvent row) {
        return restore(row, null);
    }

    private static EventEnvelope restore(OutboxEvent row, @Nullable HandOver handOver) {
        Builder builder = new Builder(row.eventType())
                .eventId(row.eventId())
                .occurredAt(row.occurredAt() != null ? row.occurredAt() : row.createdAt())
                .aggregateId(row.aggregateId())
                .tenantId(row.tenantId());
        builder.dedupKey = row.dedupKey();
        builder.dedupFor = row.dedupFor();
        builder.priority = row.priority();
        builder.expiresAt = row.expiresAt();
        builder.handOver = handOver;
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

    /**
     * Returns a copy with those of the given headers that this event does not have yet. The headers are checked like
     * headers of a builder.
     */
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
     * Returns a copy in which times relative to the write are absolute. The current time of the database clock is
     * only known to lie between two bounds.
     *
     * @param earliest the lower bound; an event whose due time is not after it is already due
     * @param latest the upper bound; durations are added to it
     */
    EventEnvelope writtenAt(Instant earliest, Instant latest) {
        Builder builder = copy();
        Instant due = deliverAfter != null ? latest.plus(deliverAfter) : availableAt;
        builder.availableAt = due == null || !due.isAfter(earliest) ? null : due; // null: due immediately
        builder.deliverAfter = null;
        builder.expiresAt = expireAfter != null ? latest.plus(expireAfter) : expiresAt;
        builder.expireAfter = null;
        return new EventEnvelope(builder);
    }

    /** Whether the event uses a feature that needs {@link outbox.spi.EventControl}. */
    boolean isControlled() {
        return isTimed() || dedupKey != null || priority != 0 || expiresAt != null;
    }

    /** Whether a value of the event depends on the time of the write. */
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
        builder.handOver = handOver;
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
     * Returns whether the library generated the id and no insert has used it yet. Stores call this once per insert.
     * If it returns true, no row can have this id, and the insert does not need to handle a conflict. An id that the
     * caller set, or one that is written again by a repeated transaction, may already be in the table.
     */
    public boolean takeFreshId() {
        return freshId != null && freshId.getAndSet(false);
    }

    public String eventType() {
        return eventType;
    }

    /** When the fact happened, with microsecond precision. This is not the time at which the event was stored. */
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

    /** The headers in the order in which they were added; unmodifiable. */
    public Map<String, String> headers() {
        return headers;
    }

    /** The payload as text; a payload given as bytes is decoded as UTF-8. */
    public String payloadJson() {
        return payloadJson != null
                ? payloadJson
                : new String(Objects.requireNonNull(payloadBytes), StandardCharsets.UTF_8);
    }

    /** The payload as bytes, a new copy on each call; a payload given as text is encoded as UTF-8. */
    public byte[] payloadBytes() {
        return payloadBytes != null
                ? payloadBytes.clone()
                : Objects.requireNonNull(payloadJson).getBytes(StandardCharsets.UTF_8);
    }

    /** Whether the payload was given as bytes and must be stored as bytes. */
    public boolean isBinary() {
        return payloadBytes != null;
    }

    /** The size of the payload in UTF-8 bytes. */
    public int payloadSize() {
        return payloadSize;
    }

    /** The deduplication key. At most one unfinished event has a given key. */
    public @Nullable String dedupKey() {
        return dedupKey;
    }

    /** How long the event keeps its key after it is done; null if it releases the key immediately. */
    public @Nullable Duration dedupFor() {
        return dedupFor;
    }

    /** The priority from 0 to {@value #MAX_PRIORITY}. Events with a higher priority are delivered first. */
    public int priority() {
        return priority;
    }

    /**
     * The time at which the event becomes due. Only set before the write: a delivered event does not carry it,
     * because a retry changes the due time.
     */
    public @Nullable Instant availableAt() {
        return availableAt;
    }

    /** How long after its write the event becomes due. Null after the write. */
    public @Nullable Duration deliverAfter() {
        return deliverAfter;
    }

    /** The event becomes dead if its delivery has not started by this time. */
    public @Nullable Instant expiresAt() {
        return expiresAt;
    }

    /** How long after its write the event expires. Null after the write, which sets {@link #expiresAt} instead. */
    public @Nullable Duration expireAfter() {
        return expireAfter;
    }

    /**
     * The schema version of the payload; 1 unless the builder set another one.
     *
     * @throws InvalidEventException if another program wrote a header value that is not a positive number
     */
    public int schemaVersion() {
        String version = headers.get(EventHeaders.SCHEMA_VERSION);
        if (version == null) {
            return 1;
        }
        try {
            return EventRules.checkSchemaVersion(Integer.parseInt(version));
        } catch (NumberFormatException e) {
            throw new InvalidEventException("Header " + EventHeaders.SCHEMA_VERSION + " of event " + eventId
                    + " is not a version: " + EventRules.show(version));
        }
    }

    /** The id of the larger operation that the event belongs to, such as the request that started it. */
    public @Nullable String correlationId() {
        return headers.get(EventHeaders.CORRELATION_ID);
    }

    /** The id of the direct cause of this event, such as another event. */
    public @Nullable String causationId() {
        return headers.get(EventHeaders.CAUSATION_ID);
    }

    /** Compares all stored values that do not change after the write. */
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

    /** Describes the event without its payload, which may be confidential. */
    @Override
    public String toString() {
        return "EventEnvelope[" + eventId + ", type " + EventRules.show(eventType) + ", aggregate "
                + EventRules.show(aggregateType)
                + (aggregateId == null ? "" : "/" + EventRules.show(aggregateId)) + ", " + payloadSize + " bytes]";
    }

    /** Builds an envelope. Not thread-safe. */
    public static final class Builder {

        private final String eventType;
        private @Nullable String eventId;
        private @Nullable AtomicBoolean freshId; // taken from the copied envelope
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
        private @Nullable HandOver handOver;

        private Builder(String eventType) {
            this.eventType = Objects.requireNonNull(eventType, "eventType");
        }

        /** Default: a monotonic ULID. At most {@value EventEnvelope#MAX_EVENT_ID_LENGTH} characters. */
        public Builder eventId(String eventId) {
            this.eventId = Objects.requireNonNull(eventId, "eventId");
            return this;
        }

        /** Default: now. Truncated to microseconds. */
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

        /**
         * Adds a header and replaces an existing header of the same name. A null value is stored as an empty string.
         */
        public Builder header(String name, @Nullable String value) {
            headers.put(
                    EventRules.checkHeaderName(name), EventRules.checkHeaderValue(name, value == null ? "" : value));
            return this;
        }

        public Builder payloadJson(String payloadJson) {
            this.payloadJson = Objects.requireNonNull(payloadJson, "payloadJson");
            return this;
        }

        /** Sets the payload as bytes, which need not be text. The array is copied. */
        public Builder payloadBytes(byte[] payloadBytes) {
            this.payloadBytes = payloadBytes.clone();
            return this;
        }

        /**
         * Sets the deduplication key. At most one unfinished event in the table has a given key. The writer
         * determines what happens to a second one, see {@link OutboxWriter#refusingDuplicates}. At most
         * {@value EventEnvelope#MAX_DEDUP_KEY_LENGTH} characters.
         */
        public Builder dedupKey(String dedupKey) {
            this.dedupKey = EventRules.checkDedupKey(dedupKey);
            return this;
        }

        /**
         * Keeps the key reserved for this duration after the event was delivered. Default: the key is free
         * immediately. Truncated to milliseconds.
         */
        public Builder dedupFor(Duration dedupFor) {
            this.dedupFor = EventRules.checkSpan("dedupFor", dedupFor).truncatedTo(ChronoUnit.MILLIS);
            return this;
        }

        /**
         * Sets the priority, from 0 (the default) to {@value EventEnvelope#MAX_PRIORITY}. Among due events, those
         * with a higher priority are delivered first, as far as the order within an aggregate allows.
         */
        public Builder priority(int priority) {
            this.priority = EventRules.checkPriority(priority);
            return this;
        }

        /**
         * The event is not delivered before this time of the database clock. Default: immediately. Truncated
         * to microseconds.
         */
        public Builder availableAt(Instant availableAt) {
            this.availableAt =
                    EventRules.checkDueTime("availableAt", availableAt).truncatedTo(ChronoUnit.MICROS);
            return this;
        }

        /** The event is not delivered before this duration has passed since the write, by the database clock. */
        public Builder deliverAfter(Duration deliverAfter) {
            this.deliverAfter = EventRules.checkSpan("deliverAfter", deliverAfter);
            return this;
        }

        /**
         * The event becomes dead if its delivery has not started by this time of the database clock. Default: never.
         * Truncated to microseconds.
         */
        public Builder expiresAt(Instant expiresAt) {
            this.expiresAt = EventRules.checkTime("expiresAt", expiresAt).truncatedTo(ChronoUnit.MICROS);
            return this;
        }

        /** Like {@link #expiresAt}, but as a duration after the write. */
        public Builder expireAfter(Duration expireAfter) {
            this.expireAfter = EventRules.checkSpan("expireAfter", expireAfter);
            return this;
        }

        /** Sets the schema version of the payload; at least 1, which is the default. */
        public Builder schemaVersion(int schemaVersion) {
            EventRules.checkSchemaVersion(schemaVersion);
            return reserved(EventHeaders.SCHEMA_VERSION, schemaVersion == 1 ? null : Integer.toString(schemaVersion));
        }

        /**
         * Sets the id of the larger operation that the event belongs to. Default: none. At most
         * {@value EventEnvelope#MAX_LINK_LENGTH} characters.
         */
        public Builder correlationId(@Nullable String correlationId) {
            return reserved(EventHeaders.CORRELATION_ID, checkLink("correlationId", correlationId));
        }

        /**
         * Sets the id of the direct cause of the event. Default: none. At most
         * {@value EventEnvelope#MAX_LINK_LENGTH} characters.
         */
        public Builder causationId(@Nullable String causationId) {
            return reserved(EventHeaders.CAUSATION_ID, checkLink("causationId", causationId));
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
         * Like {@link #build}, but uses {@code type:aggregateId:schemaVersion} as the {@code dedupKey} if none was
         * set. Fails without an aggregate id, because all events of the type would then have the same key.
         */
        public EventEnvelope buildKeyed() {
            if (dedupKey != null) {
                return build();
            }
            if (aggregateId == null) {
                throw new InvalidEventException("An event of type " + EventRules.show(eventType)
                        + " has no aggregateId, so it has no default dedupKey. Give one of the two.");
            }
            String version = headers.getOrDefault(EventHeaders.SCHEMA_VERSION, "1");
            dedupKey = EventRules.checkDedupKey(DedupKeys.version(eventType, aggregateId, version));
            try {
                return build();
            } finally {
                dedupKey = null; // the next event from this builder may belong to another aggregate
            }
        }

        /** Builds the event. It has a {@code dedupKey} only if one was set. */
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
