package outbox.spi;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.EventRef;
import outbox.model.EventStatus;

import java.sql.Connection;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A store that knows when events are due, which of them are the same, and lets those be changed that nobody delivers yet.
 *
 * <p>{@link #insertAll} leases no event that has a later due time, and refuses one whose key is taken with a {@link outbox.DuplicateKeyException}. What a table has no place for is
 * refused with the name of what is missing.
 */
public interface ControlledEventStore extends LeasingEventStore {

    /**
     * An event as it is now, and who holds it.
     *
     * @param lockedBy token of the claim that holds it, or null
     * @param dedupKey the key that it was written with, or null
     */
    record Pending(
            String eventId,
            EventStatus status,
            @Nullable String lockedBy,
            @Nullable String dedupKey) {}

    /**
     * Inserts events like {@link #insertAll}, but leaves out those whose key is taken. Never fails a transaction of the caller's because of a key.
     *
     * @return for the id of each event that was left out, the id of the one that has the key
     */
    Map<String, String> insertUnlessTaken(Connection conn, List<EventEnvelope> events, @Nullable Claim birth);

    /**
     * The event of this name. By key: the one that has it.
     *
     * @param latest whether to look past the snapshot of the transaction, and wait for who changes the event
     */
    Optional<Pending> find(Connection conn, EventRef event, boolean latest);

    /** The event that took the key last, whether it has the key still or has ended; empty if it is gone. */
    Optional<Pending> findLast(Connection conn, String dedupKey);

    /**
     * Looks for keys whose event is gone, or was delivered before the given time and keeps the key no longer, and
     * deletes what the store keeps about them. A key that another transaction is about to take is left alone.
     *
     * @param after the key behind which to begin, in an order of the store; "" to begin with the first
     * @param limit how many keys to look for
     * @return the key behind which to go on; empty if there are no more, or a key is kept with its event only
     */
    Optional<String> purgeKeys(Connection conn, Instant doneBefore, String after, int limit);

    /** Deletes the event if it is unfinished and still held as it was found; false if it is not. Holds the row until the end of the transaction. */
    boolean cancel(Connection conn, Pending found);

    /** Makes the event due at the given time, and free, on the terms of {@link #cancel}. */
    boolean reschedule(Connection conn, Pending found, Instant availableAt);

    /** When the next unfinished event that nobody holds becomes due, after {@code now}. */
    Optional<Instant> nextDue(Connection conn, Instant now);

    /**
     * Makes unfinished events dead, for the given reason, whose deadline was before {@code now}, if nobody holds them or their lease began before {@code lockExpiry}; of each status up to
     * {@code limit}. Answers their ids. Where no event can have a deadline, it costs nothing.
     */
    List<String> expire(Connection conn, Instant now, Instant lockExpiry, String reason, int limit);
}
