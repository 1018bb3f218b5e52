package outbox.spi;

import outbox.EventEnvelope;
import outbox.model.OutboxEvent;

import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * Keeps events. Every method works on the given connection, within its transaction, and never closes it.
 *
 * <p>These are the operations of the specification; they know an event by its id alone. A store that can do more declares it by implementing {@link LeasingEventStore} (claims
 * that are fenced by a token) or {@link AdminEventStore}; the engine uses what is there.
 */
public interface EventStore {

    /** Inserts the event as NEW. */
    void insertNew(Connection conn, EventEnvelope event);

    /** Sets an event that is not DONE to DONE; answers the number of rows changed, so a repetition answers 0. */
    int markDone(Connection conn, String eventId);

    /** Sets an event that is not DONE to RETRY and counts the attempt. */
    int markRetry(Connection conn, String eventId, Instant nextAt, String error);

    /** Sets an event that is not DONE to DEAD. */
    int markDead(Connection conn, String eventId, String error);

    /** Reads due events, oldest first, that were stored at least {@code skipRecent} ago, without taking them. */
    List<OutboxEvent> pollPending(Connection conn, Instant now, Duration skipRecent, int limit);

    /**
     * Takes due events for an owner: those without a lock, and those whose lock is older than {@code lockExpiry}. A store that cannot lock falls back to {@link #pollPending}.
     */
    default List<OutboxEvent> claimPending(
            Connection conn, String ownerId, Instant now, Instant lockExpiry, Duration skipRecent, int limit) {
        return pollPending(conn, now, skipRecent, limit);
    }
}
