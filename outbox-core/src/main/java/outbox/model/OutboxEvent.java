package outbox.model;

import org.jspecify.annotations.Nullable;

import java.time.Instant;

/**
 * A row of the outbox table as a poller reads it, not yet decoded.
 *
 * @param payloadJson the payload as text; empty when {@code payloadBytes} holds it
 * @param headersJson the headers as a JSON object, or null
 * @param createdAt when the database stored the event
 * @param occurredAt when the fact happened, or null where the table does not keep it
 * @param payloadBytes a payload that was written as bytes, or null
 */
@SuppressWarnings("ArrayRecordComponent") // a row is handed to one reader, who copies
public record OutboxEvent(
        String eventId,
        String eventType,
        @Nullable String aggregateType,
        @Nullable String aggregateId,
        @Nullable String tenantId,
        String payloadJson,
        @Nullable String headersJson,
        int attempts,
        Instant createdAt,
        @Nullable Instant occurredAt,
        byte @Nullable [] payloadBytes) {

    public OutboxEvent(
            String eventId,
            String eventType,
            @Nullable String aggregateType,
            @Nullable String aggregateId,
            @Nullable String tenantId,
            String payloadJson,
            @Nullable String headersJson,
            int attempts,
            Instant createdAt) {
        this(
                eventId,
                eventType,
                aggregateType,
                aggregateId,
                tenantId,
                payloadJson,
                headersJson,
                attempts,
                createdAt,
                null,
                null);
    }
}
