package outbox.model;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.time.Instant;

/**
 * A row of the outbox table as a poller reads it, not yet decoded.
 *
 * @param payloadJson the payload as text; empty if {@code payloadBytes} is set
 * @param headersJson the headers as a JSON object, or null
 * @param createdAt when the database stored the event
 * @param occurredAt when the fact happened, or null if the table does not store it
 * @param payloadBytes a payload that was written as bytes, or null
 * @param availableAt the due time, or null if it was not read
 * @param dedupKey the key that at most one unfinished event has, or null
 * @param dedupFor how long the event keeps its key after it is done, or null
 * @param priority 0 to 9, higher first
 * @param expiresAt the event becomes dead if its delivery has not started by this time; null if it never expires
 * @param fault why the row cannot be delivered, if the store found a reason, such as a payload that is too large to
 * read; or null
 */
@SuppressWarnings("ArrayRecordComponent") // a row is passed to one reader, which copies the array
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
        byte @Nullable [] payloadBytes,
        @Nullable Instant availableAt,
        @Nullable String dedupKey,
        @Nullable Duration dedupFor,
        int priority,
        @Nullable Instant expiresAt,
        @Nullable String fault) {

    public OutboxEvent(
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
            byte @Nullable [] payloadBytes,
            @Nullable Instant availableAt,
            @Nullable String dedupKey,
            @Nullable Duration dedupFor,
            int priority,
            @Nullable Instant expiresAt) {
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
                occurredAt,
                payloadBytes,
                availableAt,
                dedupKey,
                dedupFor,
                priority,
                expiresAt,
                null);
    }

    public OutboxEvent(
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
                occurredAt,
                payloadBytes,
                null,
                null,
                null,
                0,
                null);
    }

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

    /** Creates a row of which only the id is known, because the rest was not read or cannot be read. */
    public static OutboxEvent unread(String eventId) {
        return new OutboxEvent(eventId, "", null, null, null, "", null, 0, Instant.EPOCH);
    }

    /** Returns a copy with the given fault. */
    public OutboxEvent withFault(String why) {
        return new OutboxEvent(
                eventId,
                eventType,
                aggregateType,
                aggregateId,
                tenantId,
                payloadJson,
                headersJson,
                attempts,
                createdAt,
                occurredAt,
                payloadBytes,
                availableAt,
                dedupKey,
                dedupFor,
                priority,
                expiresAt,
                why);
    }
}
