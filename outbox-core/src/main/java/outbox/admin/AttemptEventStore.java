package outbox.admin;

import outbox.Experimental;
import outbox.spi.LeasingEventStore;

import java.sql.Connection;
import java.time.Instant;
import java.util.Collection;
import java.util.List;

/**
 * A store that keeps the history of attempts in a side table. If that table is missing, there is no
 * history. {@link outbox.admin.EventDetails#history} shows the history. A purge deletes it after the event
 * itself was deleted.
 */
@Experimental
public interface AttemptEventStore extends LeasingEventStore {

    /**
     * Whether the table for the history exists; the result may be up to one minute old. Does not fail if the table
     * is missing.
     */
    boolean keepsAttempts(Connection conn);

    /** Adds attempts and deletes all but the last {@code keep} attempts of each of their events. */
    void addAttempts(Connection conn, List<Attempt> attempts, int keep);

    /** Deletes all attempts of the events. */
    void forgetAttempts(Connection conn, Collection<String> eventIds);

    /**
     * Deletes up to {@code limit} attempts from before the given time whose events no longer exist. Returns
     * their number.
     */
    int purgeAttempts(Connection conn, Instant before, int limit);
}
