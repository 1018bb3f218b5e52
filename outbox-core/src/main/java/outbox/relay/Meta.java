package outbox.relay;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.internal.EventRules;

import java.util.Map;
import java.util.Objects;

/**
 * What is known about an event besides its payload.
 *
 * @param table where it stands, with the schema if the relay was given one
 * @param eventId the key by which a receiver knows a repetition
 * @param sequence its number in the table; null where the table has none. Not an order of delivery
 * @param attempts which attempt this is, counted from 1
 * @param traceParent the W3C trace context of the writer, as it was stored
 * @param traceState goes with traceParent
 */
public record Meta(
        String table,
        @Nullable String tenantId,
        String topic,
        String eventId,
        @Nullable Long sequence,
        int attempts,
        @Nullable String traceParent,
        @Nullable String traceState) {

    /** The header of an envelope that holds {@link #table}. */
    public static final String TABLE_HEADER = EventRules.RESERVED_HEADER_PREFIX + "table";

    /** The header of an envelope that holds {@link #sequence}. */
    public static final String SEQUENCE_HEADER = EventRules.RESERVED_HEADER_PREFIX + "sequence";

    /** The header of an envelope that holds {@link #attempts}. */
    public static final String ATTEMPTS_HEADER = EventRules.RESERVED_HEADER_PREFIX + "attempts";

    /** The header of an envelope that holds {@link #traceParent}. */
    public static final String TRACE_PARENT_HEADER = "traceparent";

    /** The header of an envelope that holds {@link #traceState}. */
    public static final String TRACE_STATE_HEADER = "tracestate";

    public Meta {
        Objects.requireNonNull(table, "table");
        Objects.requireNonNull(topic, "topic");
        Objects.requireNonNull(eventId, "eventId");
    }

    /** What the envelope of a relayed event says. */
    static Meta of(EventEnvelope event) {
        Map<String, String> headers = event.headers();
        String sequence = headers.get(SEQUENCE_HEADER);
        return new Meta(
                headers.getOrDefault(TABLE_HEADER, ""),
                event.tenantId(),
                event.eventType(),
                event.eventId(),
                sequence == null ? null : Long.valueOf(sequence),
                Integer.parseInt(headers.getOrDefault(ATTEMPTS_HEADER, "1")),
                headers.get(TRACE_PARENT_HEADER),
                headers.get(TRACE_STATE_HEADER));
    }
}
