package outbox.admin;

import org.jspecify.annotations.Nullable;
import outbox.internal.Ages;

import java.time.Duration;
import java.time.Instant;

/**
 * The events that wait in the table.
 *
 * @param at the time of the count by the database clock
 * @param pending the number of NEW and RETRY events
 * @param locked the number of undelivered events that are claimed, including expired leases
 * @param oldestPendingAge the age of the oldest pending event since it was stored; null if none is pending
 * @param unpublished the number of rows that are not delivered. If the table stores only the time of delivery, this
 * includes dead events. Otherwise it equals the number of pending events, because counting dead events would require
 * reading the whole table
 * @param longestOverdue how long the pending event with the earliest due time is overdue, claimed or not; null if no
 * event is due
 */
public record Backlog(
        Instant at,
        long pending,
        long locked,
        @Nullable Duration oldestPendingAge,
        @Nullable Duration longestOverdue,
        long unpublished) {

    public Backlog {
        if (locked < 0 || unpublished < locked || unpublished < pending) {
            throw new IllegalArgumentException("locked and pending must be between 0 and unpublished: " + locked + ", "
                    + pending + " and " + unpublished);
        }
    }

    /**
     * Creates a backlog from the times of the oldest events. A time in the future gives no overdue time.
     *
     * @param oldest when the oldest pending event was stored
     * @param due the earliest due time of a pending event; may be in the future
     */
    public static Backlog of(Instant now, long pending, long locked, @Nullable Instant oldest, @Nullable Instant due) {
        return of(now, pending, locked, oldest, due, pending);
    }

    /** Like the other method, for a table in which undelivered rows can be counted. */
    public static Backlog of(
            Instant now, long pending, long locked, @Nullable Instant oldest, @Nullable Instant due, long unpublished) {
        Duration overdue = due == null || due.isAfter(now) ? null : Ages.between(due, now);
        return new Backlog(
                now, pending, locked, oldest == null ? null : Ages.between(oldest, now), overdue, unpublished);
    }

    /** Creates the backlog of a store without due times: every stored event counts as due. */
    public Backlog(Instant at, long pending, long locked, @Nullable Duration oldestPendingAge) {
        this(at, pending, locked, oldestPendingAge, oldestPendingAge, pending);
    }
}
