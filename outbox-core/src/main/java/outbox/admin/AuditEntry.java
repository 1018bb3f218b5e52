package outbox.admin;

import org.jspecify.annotations.Nullable;

import java.time.Instant;
import java.util.Objects;

/**
 * The audit record of a confirmed request: who changed which events, how, why and when. It is written in the same
 * transactions as the changes.
 *
 * @param selection a description of the selected events; truncated to {@value #MAX_SELECTION_LENGTH} characters
 * @param matched the number of selected events at the start
 * @param affected the number of events changed so far
 * @param startedAt the start by the database clock
 * @param finishedAt the end by the database clock; null while the request runs, and permanently null if it
 * failed midway
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

    /** The size of column {@code selection}. */
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

    /** Truncates a description. Descriptions contain no surrogates, so the cut may be after any character. */
    static String cut(String selection) {
        return selection.length() <= MAX_SELECTION_LENGTH
                ? selection
                : selection.substring(0, MAX_SELECTION_LENGTH - 1) + "…";
    }
}
