package outbox.spi;

import outbox.admin.Attempt;

import java.sql.Connection;
import java.time.Instant;
import java.util.Collection;
import java.util.List;

/**
 * A store that keeps the history of attempts, in a place of its own, which may be missing: then there is no history. What it keeps is shown by {@link outbox.admin.EventDetails#history}
 * and goes with the purge that finds its event gone.
 */
public interface AttemptEventStore extends LeasingEventStore {

    /** Whether there is a place for the history, as far as the store has looked within the last minute; no error if not. */
    boolean keepsAttempts(Connection conn);

    /** Adds attempts, and forgets all but the last {@code keep} of each of their events. */
    void addAttempts(Connection conn, List<Attempt> attempts, int keep);

    /** Forgets all attempts of the events. */
    void forgetAttempts(Connection conn, Collection<String> eventIds);

    /** Deletes up to {@code limit} attempts from before the given time whose events are gone; answers how many. */
    int purgeAttempts(Connection conn, Instant before, int limit);
}
