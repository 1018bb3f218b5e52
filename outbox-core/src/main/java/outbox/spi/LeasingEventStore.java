package outbox.spi;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * A store whose claims are fenced: each names a token, and only who names the current token can change the event. With such a store the engine promises no duplicates without
 * a fault, on any number of nodes.
 *
 * <p>Times are given by the caller, who reads them from {@link #now}: the database's clock is the only one that counts.
 */
public interface LeasingEventStore extends EventStore {

    /** The database's clock. */
    Instant now(Connection conn);

    /** Makes a connection ready for a transaction of the framework itself, such as choosing its isolation; it lasts for that transaction only. */
    void prepare(Connection conn) throws SQLException;

    /**
     * Inserts all events or none, as NEW, leased to {@code birth} from the start if it is given.
     *
     * @return true if only the end of the transaction can undo the insert; false if a rollback to a savepoint might,
     *     or if the store cannot tell
     */
    boolean insertAll(Connection conn, List<EventEnvelope> events, @Nullable Claim birth);

    /** Returns those of the events that the transaction of the connection sees. */
    Set<String> existing(Connection conn, Collection<String> eventIds);

    /** Refuses, before its commit, a transaction with events of which the database has already given up a part; such a commit may look like a success. */
    void checkCommit(Connection conn);

    /** Takes up to {@code limit} due events that nobody holds, or whose lease began before {@code lockExpiry}; oldest due time first. */
    List<ClaimedEvent> claim(
            Connection conn, Claim claim, Instant now, Instant lockExpiry, Duration skipRecent, int limit);

    /** Takes one unfinished event that is due if nobody holds it, its lease has expired, or the claim {@code held} holds it. */
    Optional<ClaimedEvent> claimOne(
            Connection conn, Claim claim, String eventId, Instant now, Instant lockExpiry, @Nullable Claim held);

    /**
     * Locks the rows of these events for the rest of the transaction, without waiting: a row that another transaction
     * has locked is left out. Returns the events whose rows are
     * left out. An event without a row is not among them.
     *
     * <p>The other methods may wait for a locked row, briefly, and then fail with the database's error. They never
     * wait for a row that this method has locked.
     */
    Set<String> lockFree(Connection conn, Collection<String> eventIds);

    /**
     * Sets the number of attempts without an outcome: one more before a run that may end the process, and back to what
     * it was if the process outlived that run and its outcome does not count. False if the claim no longer holds the
     * event.
     */
    boolean setAttempts(Connection conn, String token, String eventId, int attempts);

    /** Starts the lease of the events anew at {@code now}; answers those that the claim still holds. */
    Set<String> renew(Connection conn, String token, Collection<String> eventIds, Instant now);

    /** Gives back events without counting an attempt; answers how many the claim still held. */
    int release(Connection conn, String token, Collection<String> eventIds);

    /**
     * Gives back events that were claimed as suspects: anybody may claim them at once, and gets them as suspects again. They do not count as held by nobody, because who held them before may still
     * deliver them. Answers how many the claim still held.
     */
    int releaseSuspects(Connection conn, String token, Collection<String> eventIds);

    /** Writes outcomes; answers the events whose claim still held them, the only ones that were changed. */
    Set<String> mark(Connection conn, List<Mark> marks, Instant now);

    /** Deletes delivered events instead of marking them DONE; answers those whose claim still held them, the only ones that were deleted. */
    Set<String> remove(Connection conn, List<Mark> done);
}
