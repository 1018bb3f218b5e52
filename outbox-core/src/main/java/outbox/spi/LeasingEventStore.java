package outbox.spi;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.Experimental;
import outbox.model.OutboxEvent;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The capability of a store with fenced claims. Each claim has a token, and only a caller with the current token can
 * change the event. With such a store, the engine delivers no duplicates unless a fault occurs, on any number of nodes.
 *
 * <p>The caller passes all times and reads them from {@link #now}: only the clock of the database counts.
 *
 * <p>A claim may leave large content in the table. The engine then reads it by {@link #load}, for as many events as fit
 * into memory, so that a row that is too large or unreadable never blocks the delivery of other events.
 */
@Experimental
public interface LeasingEventStore extends EventStore {

    /** Returns the time of the database clock. */
    Instant now(Connection conn);

    /**
     * Whether the clock can be set at any time, for example by a test. A value of {@link #now} is then valid only at
     * that moment, so the engine reads the clock each time.
     */
    default boolean isClockSettable() {
        return false;
    }

    /**
     * The name of the table, with its schema if it was given one, so that a writer refuses the hook of another
     * table's dispatcher; null for a store without a table.
     */
    default @Nullable String tableName() {
        return null;
    }

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

    /** Claims due events that no claim holds or whose lease has expired. The oldest due time comes first. */
    List<ClaimedEvent> claim(Connection conn, Claim claim, ClaimRequest request);

    /**
     * Whether claims skip the events that a request {@linkplain ClaimRequest#withheld withholds}. If not, the engine
     * releases them after the claim.
     */
    boolean canWithhold();

    /**
     * Returns how many bytes {@link #load} would read for each event. The value is 0 for an event that is too large,
     * because its content is never read.
     */
    Map<String, Long> sizes(Connection conn, Collection<String> eventIds);

    /**
     * Reads complete events in the order of their due times. An event that is too large is returned without its
     * content and with a {@linkplain OutboxEvent#fault() fault}.
     */
    List<OutboxEvent> load(Connection conn, Collection<String> eventIds);

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
     * Locks the events that a claim would take first, until the end of the transaction. Returns false if another
     * transaction has locked one of them: a claim would skip that event and take later events before it. A store
     * whose claims wait for locked rows keeps the default.
     *
     * @param request a request without an order and without withheld events
     */
    default boolean lockDue(Connection conn, ClaimRequest request) {
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

    /**
     * Marks those of the events as dead that a claim would take, are NEW, and were never attempted. Not called unless
     * the store {@linkplain #canWithhold can withhold} events. Returns the ids.
     *
     * @param overdue selects the events. Its {@link ClaimRequest#now} is the time before which they were due
     */
    List<String> endUntaken(Connection conn, ClaimRequest overdue, Instant now, String reason);

    /**
     * Marks unfinished events as dead that no claim would ever find, because their due time is on or after the last
     * day of the year 9999, or infinity. Skips events that a claim holds. Uses the index of the claim.
     *
     * @return the ids of up to {@code limit} events
     */
    List<String> endUnreachable(Connection conn, Instant now, Instant lockExpiry, String reason, int limit);
}
