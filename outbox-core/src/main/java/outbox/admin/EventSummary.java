package outbox.admin;

import org.jspecify.annotations.Nullable;
import outbox.model.EventStatus;

import java.time.Instant;
import java.util.Objects;
import java.util.Optional;

/**
 * An event as a list shows it, without its payload.
 *
 * @param statusCode what stands in the status column; a foreign writer may have put there what is no status
 * @param availableAt due from then on
 * @param createdAt when the database stored the event
 * @param doneAt when it became DONE or DEAD
 * @param lockedBy token of the claim that holds the event
 * @param lockedAt when the lease of that claim began
 * @param errorStart the first {@value #MAX_ERROR_LENGTH} characters of the last error, which a replay keeps
 * @param dedupKey the key that it was written with
 * @param priority 0 to 9, larger first
 * @param expiresAt not started by then, it is dead
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

    /** How much of the last error a list shows. */
    public static final int MAX_ERROR_LENGTH = 200;

    public EventSummary {
        Objects.requireNonNull(eventId, "eventId");
        Objects.requireNonNull(eventType, "eventType");
        Objects.requireNonNull(availableAt, "availableAt");
        Objects.requireNonNull(createdAt, "createdAt");
        errorStart = errorStart == null ? null : cut(errorStart);
    }

    /** The text may have been cut already, by a database that counts halves of characters. */
    private static String cut(String error) {
        int end = Math.min(error.length(), MAX_ERROR_LENGTH);
        boolean half = end > 0 && Character.isHighSurrogate(error.charAt(end - 1));
        return error.substring(0, half ? end - 1 : end);
    }

    /** The status; empty if the code in the table is of none. */
    public Optional<EventStatus> status() {
        return OutboxStatistics.statusOf(statusCode);
    }

    /** The place of this event in a search. */
    public EventCursor cursor() {
        return new EventCursor(createdAt, eventId);
    }
}
