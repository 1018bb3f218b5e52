package outbox.memory;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.admin.EventSummary;
import outbox.model.EventStatus;
import outbox.model.OutboxEvent;
import outbox.util.JsonCodec;

import java.time.Duration;
import java.time.Instant;

/**
 * The state of an event at one time. Immutable, so that a transaction can restore it.
 *
 * @param number position in the order of its aggregate; negative if the event was taken out of the order
 */
record RowState(
        EventEnvelope event,
        long number,
        Instant createdAt,
        Instant availableAt,
        EventStatus status,
        int attempts,
        @Nullable Instant doneAt,
        @Nullable Instant expiresAt,
        @Nullable String headersJson,
        @Nullable String lastError,
        @Nullable String lockedBy,
        @Nullable Instant lockedAt) {

    static RowState written(EventEnvelope event, long number, Instant now) {
        Instant due = event.availableAt();
        return new RowState(
                event,
                number,
                now,
                due == null ? now : due,
                EventStatus.NEW,
                0,
                null,
                event.expiresAt(),
                event.headers().isEmpty() ? null : JsonCodec.toJson(event.headers()),
                null,
                null,
                null);
    }

    String eventId() {
        return event.eventId();
    }

    boolean isPending() {
        return !status.isTerminal();
    }

    /** Returns whether the event is not claimed, or its lease has expired. */
    boolean isFree(Instant lockExpiry) {
        return lockedAt == null || lockedAt.isBefore(lockExpiry);
    }

    boolean isHeldBy(String token) {
        return isPending() && token.equals(lockedBy);
    }

    /** Returns whether other events cannot take the key of this event. */
    boolean hasKey(Instant now) {
        return event.dedupKey() != null && (isPending() || status == EventStatus.DONE && keepsKey(now));
    }

    private boolean keepsKey(Instant now) {
        Duration span = event.dedupFor();
        return span != null && doneAt != null && doneAt.plus(span).isAfter(now);
    }

    RowState lockedBy(@Nullable String token, @Nullable Instant since) {
        return new RowState(
                event,
                number,
                createdAt,
                availableAt,
                status,
                attempts,
                doneAt,
                expiresAt,
                headersJson,
                lastError,
                token,
                since);
    }

    RowState counted() {
        return withAttempts(attempts + 1);
    }

    RowState withAttempts(int attempts) {
        return new RowState(
                event,
                number,
                createdAt,
                availableAt,
                status,
                attempts,
                doneAt,
                expiresAt,
                headersJson,
                lastError,
                lockedBy,
                lockedAt);
    }

    /** Returns a state with another due time and without a claim. */
    RowState dueAt(Instant time) {
        return new RowState(
                event,
                number,
                createdAt,
                time,
                status,
                attempts,
                doneAt,
                expiresAt,
                headersJson,
                lastError,
                null,
                null);
    }

    RowState done(Instant now) {
        return ended(EventStatus.DONE, now, lastError);
    }

    RowState dead(Instant now, String error) {
        return ended(EventStatus.DEAD, now, error);
    }

    private RowState ended(EventStatus terminal, Instant now, @Nullable String error) {
        return new RowState(
                event,
                number,
                createdAt,
                availableAt,
                terminal,
                attempts,
                now,
                expiresAt,
                headersJson,
                error,
                null,
                null);
    }

    RowState retry(Instant next, String error) {
        return new RowState(
                event,
                number,
                createdAt,
                next,
                EventStatus.RETRY,
                attempts,
                null,
                expiresAt,
                headersJson,
                error,
                null,
                null);
    }

    /** Returns a pending state without a deadline, with the headers of the replay. */
    RowState replayed(Instant due, @Nullable String headers) {
        return new RowState(
                event,
                number,
                createdAt,
                due,
                status == EventStatus.RETRY ? status : EventStatus.NEW,
                0,
                null,
                null,
                headers,
                status == EventStatus.DONE ? null : lastError,
                null,
                null);
    }

    RowState skipped() {
        return new RowState(
                event,
                -number,
                createdAt,
                availableAt,
                status,
                attempts,
                doneAt,
                expiresAt,
                headersJson,
                lastError,
                lockedBy,
                lockedAt);
    }

    OutboxEvent row() {
        return new OutboxEvent(
                event.eventId(),
                event.eventType(),
                event.aggregateType(),
                event.aggregateId(),
                event.tenantId(),
                event.isBinary() ? "" : event.payloadJson(),
                headersJson,
                attempts,
                createdAt,
                event.occurredAt(),
                event.isBinary() ? event.payloadBytes() : null,
                availableAt,
                event.dedupKey(),
                event.dedupFor(),
                event.priority(),
                expiresAt);
    }

    EventSummary summary() {
        return new EventSummary(
                event.eventId(),
                event.eventType(),
                event.aggregateType(),
                event.aggregateId(),
                event.tenantId(),
                status.code(),
                attempts,
                availableAt,
                createdAt,
                doneAt,
                lockedBy,
                lockedAt,
                lastError,
                event.dedupKey(),
                event.priority(),
                expiresAt);
    }

    /** Returns the approximate memory size: payload, headers, and a fixed number for the rest. */
    long bytes() {
        return 512L + event.payloadSize() + (headersJson == null ? 0 : 2L * headersJson.length());
    }
}
