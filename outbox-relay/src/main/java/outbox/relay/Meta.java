package outbox.relay;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.EventHeaders;

import java.util.Map;
import java.util.Objects;

/**
 * The metadata of an event.
 *
 * @param table the table of the event, with the schema if the relay was given one
 * @param eventId the key by which a receiver detects duplicates
 * @param sequence the number of the event in the table; null if the table has no such numbers. It is not the
 *     order of delivery
 * @param attempts the number of this attempt, counted from 1
 * @param traceParent the W3C trace context of the writer, as stored
 * @param traceState belongs to traceParent
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

    public Meta {
        Objects.requireNonNull(table, "table");
        Objects.requireNonNull(topic, "topic");
        Objects.requireNonNull(eventId, "eventId");
    }

    /** Reads the metadata from the envelope of a relayed event. */
    static Meta of(EventEnvelope event) {
        Map<String, String> headers = event.headers();
        String sequence = headers.get(EventHeaders.SEQUENCE);
        return new Meta(
                headers.getOrDefault(EventHeaders.TABLE, ""),
                event.tenantId(),
                event.eventType(),
                event.eventId(),
                sequence == null ? null : Long.valueOf(sequence),
                Integer.parseInt(headers.getOrDefault(EventHeaders.ATTEMPTS, "1")),
                headers.get(EventHeaders.TRACE_PARENT),
                headers.get(EventHeaders.TRACE_STATE));
    }
}
