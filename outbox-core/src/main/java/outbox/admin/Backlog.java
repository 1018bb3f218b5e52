package outbox.admin;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.time.Instant;

/**
 * What waits in the table.
 *
 * @param at when, by the database's clock
 * @param pending how many events are NEW or RETRY
 * @param locked how many of them are claimed, be the lease over or not
 * @param oldestPendingAge since when the oldest of them is stored; null if none is pending
 * @param longestOverdue how long the one of them that is due longest waits past its time, claimed or not; null if none is due
 */
public record Backlog(
        Instant at,
        long pending,
        long locked,
        @Nullable Duration oldestPendingAge,
        @Nullable Duration longestOverdue) {

    public Backlog {
        if (locked < 0 || pending < locked) {
            throw new IllegalArgumentException(
                    "locked must be between 0 and pending: " + locked + " of " + pending + " events");
        }
    }

    /**
     * From the times of the oldest events; one that has not come yet is no age.
     *
     * @param oldest when the oldest pending event was stored
     * @param due when the first of them became due, be it yet to come
     */
    public static Backlog of(Instant now, long pending, long locked, @Nullable Instant oldest, @Nullable Instant due) {
        Duration overdue = due == null ? null : Duration.between(due, now);
        return new Backlog(
                now,
                pending,
                locked,
                oldest == null ? null : oldest.isAfter(now) ? Duration.ZERO : Duration.between(oldest, now),
                overdue == null || overdue.isNegative() ? null : overdue);
    }

    /** Of a store that does not look at due times: what is stored counts as due. */
    public Backlog(Instant at, long pending, long locked, @Nullable Duration oldestPendingAge) {
        this(at, pending, locked, oldestPendingAge, oldestPendingAge);
    }
}
