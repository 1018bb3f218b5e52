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
 */
public record Backlog(
        Instant at, long pending, long locked, @Nullable Duration oldestPendingAge) {

    public Backlog {
        if (locked < 0 || pending < locked) {
            throw new IllegalArgumentException(
                    "locked must be between 0 and pending: " + locked + " of " + pending + " events");
        }
    }
}
