package outbox.spi;

import outbox.EventEnvelope;
import outbox.model.OutboxEvent;

import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * Stores events. Every method uses the given connection and its transaction, and never closes it.
 *
 * <p>These are the operations of the specification; they identify an event by its id only. What else a store can do,
 * the engine finds out by {@link #capability}. The capabilities are {@link LeasingEventStore} (claims that are fenced
 * by a token), {@link EventOrder}, {@link EventControl}, and in other packages pauses, administration and the log of
 * reconcile jobs.
 */
public interface EventStore {

    /** Inserts the event as NEW. */
    void insertNew(Connection conn, EventEnvelope event);

    /** Sets an event that is not DONE to DONE. Returns the number of changed rows, so a repeated call returns 0. */
    int markDone(Connection conn, String eventId);

    /** Sets an event that is not DONE to RETRY and counts the attempt. */
    int markRetry(Connection conn, String eventId, Instant nextAt, String error);

    /** Sets an event that is not DONE to DEAD. */
    int markDead(Connection conn, String eventId, String error);

    /** Reads due events, oldest first, that were stored at least {@code skipRecent} ago. Does not claim them. */
    List<OutboxEvent> pollPending(Connection conn, Instant now, Duration skipRecent, int limit);

    /**
     * Claims due events for an owner: events without a lock, and events whose lock is older than {@code lockExpiry}.
     * A store that cannot lock uses {@link #pollPending} instead.
     */
    default List<OutboxEvent> claimPending(
            Connection conn, String ownerId, Instant now, Instant lockExpiry, Duration skipRecent, int limit) {
        return pollPending(conn, now, skipRecent, limit);
    }

    /**
     * Returns the part of this store that has a capability; empty if it lacks the capability. Each part of the engine
     * asks for itself, so the result must be the same part each time, or an equal one. A store returns itself for every
     * interface that it implements, unless it overrides this method. A store that wraps another one returns itself or
     * the part of the other one; a dynamic proxy that forwards this call is bypassed.
     *
     * @param type the interface of the capability, such as {@link LeasingEventStore}
     */
    default <T> Optional<T> capability(Class<T> type) {
        return type.isInstance(this) ? Optional.of(type.cast(this)) : Optional.empty();
    }
}
