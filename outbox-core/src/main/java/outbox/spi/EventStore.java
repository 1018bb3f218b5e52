package outbox.spi;

import outbox.EventEnvelope;
import outbox.model.OutboxEvent;

import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * Stores events. Every method uses the given connection and its transaction, and never closes it.
 *
 * <p>These are the operations of the specification; they identify an event by its id only. A store with more
 * capabilities also implements {@link LeasingEventStore} (claims that are fenced by a token) or
 * {@link outbox.admin.AdminEventStore}. The engine uses the capabilities that the store implements.
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
}
