package outbox.admin;

import org.jspecify.annotations.Nullable;
import outbox.model.EventStatus;

import java.time.Instant;
import java.util.Objects;
import java.util.Optional;

/**
 * An event as a list shows it, without its payload.
 *
 * @param statusCode the value of the status column; another program may have written a value that is not a status
 * @param availableAt the due time
 * @param createdAt when the database stored the event
 * @param doneAt when the event became DONE or DEAD
 * @param lockedBy the token of the claim that holds the event
 * @param lockedAt when the lease of that claim began
 * @param errorStart the first {@value #MAX_ERROR_LENGTH} characters of the last error; a replay keeps the error
 * @param dedupKey the key with which the event was written
 * @param priority 0 to 9, higher first
 * @param expiresAt the event becomes dead if its delivery has not started by this time
 */
public record EventSummary(
        String eventId,
        String eventType,
        @Nullable String aggregateType,
        @Nullable String aggregateId,
        @Nullable String tenantId,
        int statusCode,
        int attempts,
        Instant availableAt,
        Instant createdAt,
        @Nullable Instant doneAt,
        @Nullable String lockedBy,
        @Nullable Instant lockedAt,
        @Nullable String errorStart,
        @Nullable String dedupKey,
        int priority,
        @Nullable Instant expiresAt) {

    /** The number of characters of the last error that a list shows. */
    public static final int MAX_ERROR_LENGTH = 200;

    public EventSummary {
        Objects.requireNonNull(eventId, "eventId");
        Objects.requireNonNull(eventType, "eventType");
        Objects.requireNonNull(availableAt, "availableAt");
        Objects.requireNonNull(createdAt, "createdAt");
        errorStart = errorStart == null ? null : cut(errorStart);
    }

    /** Truncates the text. A database that counts UTF-16 units may already have cut it inside a surrogate pair. */
    private static String cut(String error) {
        int end = Math.min(error.length(), MAX_ERROR_LENGTH);
        boolean half = end > 0 && Character.isHighSurrogate(error.charAt(end - 1));
        return error.substring(0, half ? end - 1 : end);
    }

    /** Returns the status; empty if the code in the table is not a status. */
    public Optional<EventStatus> status() {
        return OutboxStatistics.statusOf(statusCode);
    }

    /** Returns the position of this event in a search. */
    public EventQuery.Cursor cursor() {
        return new EventQuery.Cursor(createdAt, eventId);
    }
}
