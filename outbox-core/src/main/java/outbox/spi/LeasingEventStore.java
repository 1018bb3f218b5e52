package outbox.spi;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.Experimental;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * A store with fenced claims. Each claim has a token, and only a caller with the current token can change the event.
 * With such a store, the engine delivers no duplicates unless a fault occurs, on any number of nodes.
 *
 * <p>The caller passes all times and reads them from {@link #now}: only the clock of the database counts.
 */
@Experimental
public interface LeasingEventStore extends EventStore {

    /** Returns the time of the database clock. */
    Instant now(Connection conn);

    /**
     * Prepares a connection for a transaction of the framework, for example by setting the isolation level. The
     * effect ends with that transaction.
     */
    void prepare(Connection conn) throws SQLException;

    /**
     * Inserts all events or none, as NEW. If {@code birth} is given, the events are leased to it from the start.
     *
     * @return true if only a rollback of the whole transaction can undo the insert; false if a rollback to a
     * savepoint might undo it, or if the store does not know
     */
    boolean insertAll(Connection conn, List<EventEnvelope> events, @Nullable Claim birth);

    /**
     * Returns the ids of those events that were written in this transaction and then dropped, for example by an
     * in-memory store that is full. A writer neither counts them nor passes them on. A store that rejects such a
     * write keeps the default.
     */
    default Set<String> dropped(Connection conn, List<EventEnvelope> events) {
        return Set.of();
    }

    /** Returns the ids of those events that are visible to the transaction of the connection. */
    Set<String> existing(Connection conn, Collection<String> eventIds);

    /**
     * Called before the commit. Rejects a transaction with events if the database has already rolled back a part of
     * it, because its commit might appear to succeed.
     */
    void checkCommit(Connection conn);

    /**
     * Claims up to {@code limit} due events that no claim holds or whose lease began before {@code lockExpiry}. The
     * oldest due time comes first.
     */
    List<ClaimedEvent> claim(
            Connection conn, Claim claim, Instant now, Instant lockExpiry, Duration skipRecent, int limit);

    /**
     * Claims one unfinished due event if no claim holds it, its lease has expired, or the claim {@code held}
     * holds it.
     */
    Optional<ClaimedEvent> claimOne(
            Connection conn, Claim claim, String eventId, Instant now, Instant lockExpiry, @Nullable Claim held);

    /**
     * Locks the rows of these events until the end of the transaction, without waiting. Skips rows that another
     * transaction has locked and returns the ids of these events. An event without a row is not returned.
     *
     * <p>The other methods may wait briefly for a locked row and then fail with the error of the database. They
     * never wait for a row that this method has locked.
     */
    Set<String> lockFree(Connection conn, Collection<String> eventIds);

    /**
     * Sets the number of attempts without an outcome. It is increased before a delivery that may crash the process,
     * and reset if the process survived that delivery and the outcome does not count as an attempt. Returns false if
     * the claim no longer holds the event.
     */
    boolean setAttempts(Connection conn, String token, String eventId, int attempts);

    /** Restarts the lease of the events at {@code now}. Returns the ids of the events that the claim still holds. */
    Set<String> renew(Connection conn, String token, Collection<String> eventIds, Instant now);

    /**
     * Locks the events that a claim with the same arguments would take first, until the end of the transaction.
     * Returns false if another transaction has locked one of them: a claim would skip that event and take later
     * events before it. A store whose claims wait for locked rows keeps the default.
     */
    default boolean lockDue(Connection conn, Instant now, Instant lockExpiry, Duration skipRecent, int limit) {
        return true;
    }

    /** Releases events without counting an attempt. Returns the number of events that the claim still held. */
    int release(Connection conn, String token, Collection<String> eventIds);

    /**
     * Releases events that were claimed as suspects. Any poller may claim them immediately and receives them as
     * suspects again. They do not count as unclaimed, because the previous holder may still be delivering them.
     * Returns the number of events that the claim still held.
     */
    int releaseSuspects(Connection conn, String token, Collection<String> eventIds);

    /** Writes outcomes. Changes only events that their claim still holds, and returns the ids of these events. */
    Set<String> mark(Connection conn, List<Mark> marks, Instant now);

    /**
     * Deletes delivered events instead of marking them DONE. Deletes only events that their claim still holds, and
     * returns the ids of these events.
     */
    Set<String> remove(Connection conn, List<Mark> done);
}
