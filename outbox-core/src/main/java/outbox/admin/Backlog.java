package outbox.admin;

import org.jspecify.annotations.Nullable;
import outbox.internal.Ages;

import java.time.Duration;
import java.time.Instant;

/**
 * What waits in the table.
 *
 * @param at when, by the database's clock
 * @param pending how many events are NEW or RETRY
 * @param locked how many events that are not delivered are claimed, be the lease over or not
 * @param oldestPendingAge since when the oldest of them is stored; null if none is pending
 * @param unpublished how many rows are not delivered. In a table that tells this by the time of delivery, dead events
 *     are among them; elsewhere these are the pending ones, since dead ones could be counted only by reading the table
 * @param longestOverdue how long the one of them that is due longest waits past its time, claimed or not; null if none is due
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
     * From the times of the oldest events; one that has not come yet is no age.
     *
     * @param oldest when the oldest pending event was stored
     * @param due when the first of them became due, be it yet to come
     */
    public static Backlog of(Instant now, long pending, long locked, @Nullable Instant oldest, @Nullable Instant due) {
        return of(now, pending, locked, oldest, due, pending);
    }

    /** The same for a table that tells how many rows are not delivered. */
    public static Backlog of(
            Instant now, long pending, long locked, @Nullable Instant oldest, @Nullable Instant due, long unpublished) {
        Duration overdue = due == null || due.isAfter(now) ? null : Ages.between(due, now);
        return new Backlog(
                now, pending, locked, oldest == null ? null : Ages.between(oldest, now), overdue, unpublished);
    }

    /** Of a store that does not look at due times: what is stored counts as due. */
    public Backlog(Instant at, long pending, long locked, @Nullable Duration oldestPendingAge) {
        this(at, pending, locked, oldestPendingAge, oldestPendingAge, pending);
    }
}
