package outbox.spi;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.EventRef;
import outbox.Experimental;
import outbox.model.EventStatus;

import java.sql.Connection;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The capability of a store that supports due times, deduplication keys, and changes to events whose delivery has not
 * started.
 *
 * <p>{@link LeasingEventStore#insertAll} of such a store does not lease events that are due later, and throws
 * {@link outbox.DuplicateKeyException} if a key is taken. If the table lacks a column that an event needs, the store
 * rejects the event and names the column.
 */
@Experimental
public interface EventControl {

    /**
     * The current state of an event and the claim that holds it.
     *
     * @param lockedBy the token of the claim that holds the event, or null
     * @param dedupKey the key with which the event was written, or null
     */
    record Pending(
            String eventId,
            EventStatus status,
            @Nullable String lockedBy,
            @Nullable String dedupKey) {}

    /**
     * Inserts events like {@link LeasingEventStore#insertAll}, but leaves out events whose key is taken. A taken key
     * never makes the caller's transaction fail.
     *
     * @return for each event that was left out, its id and the id of the event that has the key
     */
    Map<String, String> insertUnlessTaken(Connection conn, List<EventEnvelope> events, @Nullable Claim birth);

    /**
     * Finds the event with this id, or the event that has this key.
     *
     * @param latest whether to read the latest committed version instead of the transaction's snapshot, and to wait
     * for a concurrent change of the event
     */
    Optional<Pending> find(Connection conn, EventRef event, boolean latest);

    /**
     * Returns the event that took the key last, whether it still has the key or has ended; empty if the event
     * was deleted.
     */
    Optional<Pending> findLast(Connection conn, String dedupKey);

    /**
     * Searches for keys whose event was deleted, or was delivered before the given time and no longer keeps its key.
     * Deletes the data that the store keeps about them. Skips a key that another transaction is about to take.
     *
     * @param after the key after which to start, in the order of the store; "" to start with the first key
     * @param limit the maximum number of keys to examine
     * @return the key after which to continue; empty if there are no more keys, or if the store keeps keys only in
     * the rows of the events
     */
    Optional<String> purgeKeys(Connection conn, Instant doneBefore, String after, int limit);

    /**
     * Deletes the event if it is unfinished and its claim is unchanged since it was found; otherwise returns false.
     * Locks the row until the end of the transaction.
     */
    boolean cancel(Connection conn, Pending found);

    /** Makes the event due at the given time and releases it, under the same conditions as {@link #cancel}. */
    boolean reschedule(Connection conn, Pending found, Instant availableAt);

    /** Returns the earliest due time after {@code now} among unfinished events that no claim holds. */
    Optional<Instant> nextDue(Connection conn, Instant now);

    /**
     * Marks unfinished events as dead with the given reason if their deadline was before {@code now} and no claim
     * holds them or their lease began before {@code lockExpiry}. Handles up to {@code limit} events of each status
     * and returns their ids. Costs nothing if events cannot have a deadline.
     */
    List<String> expire(Connection conn, Instant now, Instant lockExpiry, String reason, int limit);
}
