package outbox.admin;

import org.jspecify.annotations.Nullable;

import java.time.Instant;
import java.util.Objects;

/**
 * The record of a confirmed request: who did what to which events, why and when. It is written in the same transactions as the changes.
 *
 * @param selection which events were meant, in words; cut to {@value #MAX_SELECTION_LENGTH} characters
 * @param matched how many events that were at the start
 * @param affected how many of them are changed by now
 * @param startedAt by the database's clock, as is {@code finishedAt}
 * @param finishedAt null while it is at work, and for ever if it failed midway
 */
public record AuditEntry(
        String requestId,
        AdminAction action,
        String actor,
        String reason,
        String selection,
        long matched,
        long affected,
        Instant startedAt,
        @Nullable Instant finishedAt) {

    /** Size of the column {@code selection}. */
    public static final int MAX_SELECTION_LENGTH = 2000;

    public AuditEntry {
        Objects.requireNonNull(requestId, "requestId");
        Objects.requireNonNull(action, "action");
        Objects.requireNonNull(startedAt, "startedAt");
        selection = cut(selection);
    }

    AuditEntry progressed(int more, @Nullable Instant finished) {
        return new AuditEntry(
                requestId, action, actor, reason, selection, matched, affected + more, startedAt, finished);
    }

    /** Filters in words hold no surrogates, so any character may be the last. */
    static String cut(String selection) {
        return selection.length() <= MAX_SELECTION_LENGTH
                ? selection
                : selection.substring(0, MAX_SELECTION_LENGTH - 1) + "…";
    }
}
