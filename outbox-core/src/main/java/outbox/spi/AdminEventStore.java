package outbox.spi;

import org.jspecify.annotations.Nullable;
import outbox.admin.AuditEntry;
import outbox.admin.Backlog;
import outbox.admin.ClaimHolder;
import outbox.admin.EventDetails;
import outbox.admin.EventFilter;
import outbox.admin.EventQuery;
import outbox.admin.EventSummary;
import outbox.admin.TypeCount;
import outbox.model.EventStatus;

import java.sql.Connection;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Optional;

/**
 * A store that an operator can look into and act upon, and that can be purged. What a filter holds is bound, never put into the text of a statement.
 *
 * <p>The methods about audit throw an {@link outbox.OutboxException} that says what is missing if the store has no place for audit records; all others work without it.
 */
public interface AdminEventStore extends EventStore {

    /**
     * The capability of a store.
     *
     * @throws IllegalArgumentException if the store does not have it
     */
    static AdminEventStore require(EventStore store) {
        if (store instanceof AdminEventStore admin) {
            return admin;
        }
        throw new IllegalArgumentException("eventStore " + store.getClass().getName()
                + " cannot be administered: it does not implement " + AdminEventStore.class.getName());
    }

    /** The database's clock. */
    Instant now(Connection conn);

    /** Counts events by type and status code, whatever the code. */
    List<TypeCount> countByType(Connection conn);

    /** When the oldest NEW or RETRY event was stored. */
    Optional<Instant> oldestPending(Connection conn);

    /** Counts NEW and RETRY events, in one statement that does not read finished ones. */
    Backlog backlog(Connection conn);

    /**
     * Counts DEAD events. On a table without an index for them this reads the whole table, so it has a short time limit
     * where the store can set one, after which it fails.
     */
    default long countDead(Connection conn) {
        return count(conn, EventFilter.builder().status(EventStatus.DEAD).build());
    }

    /** Reads one event with all that is known about it. */
    Optional<EventDetails> find(Connection conn, String eventId);

    /** Reads a page, in the order of the query. Skips to its start by a condition on the key, never by counting rows. */
    List<EventSummary> find(Connection conn, EventQuery query);

    /** Counts the events that pass the filter. */
    long count(Connection conn, EventFilter filter);

    /** The ids of events that pass the filter, the oldest first, by their numbers if they have any. */
    List<String> findIds(Connection conn, EventFilter filter, int limit);

    /**
     * Makes those of the events pending again that are what the replay is for, with no attempt made, no deadline, and the marks of the replay in their headers. Each is due as its place
     * in the list says. A dead one keeps its last error, a delivered one none. One whose key another event has by now stays as it is. Answers how many.
     */
    int replay(Connection conn, List<String> eventIds, Replay how);

    /** Deletes those of the events that are DEAD; answers how many. */
    int discard(Connection conn, Collection<String> eventIds);

    /**
     * Deletes up to {@code limit} events that became DONE or DEAD before the given time; answers how many. Does not wait for rows that others hold where the database can pass
     * them over. An event without that time is never deleted.
     */
    int purge(Connection conn, EventStatus terminal, Instant doneBefore, int limit);

    /** Reads the record of a request. */
    Optional<AuditEntry> audit(Connection conn, String requestId);

    /** The latest records of requests about events of this table, the newest first. */
    List<AuditEntry> audits(Connection conn, int limit);

    /**
     * Who holds claims on unfinished events: one for each token, which stands for the node, in any order; one without
     * a name if the store keeps no tokens.
     */
    List<ClaimHolder> claimHolders(Connection conn);

    /**
     * Ends the leases of those of the events that are still claimed as the filter says: anybody may claim them at
     * once, and gets them as suspects. Answers how many.
     *
     * @param filter by node and time of the claim, both given
     */
    int releaseClaims(Connection conn, Collection<String> eventIds, EventFilter filter);

    /**
     * Makes those of the events due at {@code now} that are unfinished, not claimed, and due later; answers how many.
     */
    int makeDue(Connection conn, Collection<String> eventIds, Instant now);

    /** Writes the record of a request that starts; false, and the transaction can go on, if there is one with its id. Waits for another transaction that writes the same id. */
    boolean beginAudit(Connection conn, AuditEntry entry);

    /** Adds to the number of events that the request changed, and ends it if the time is given. */
    void progressAudit(Connection conn, String requestId, int affected, @Nullable Instant finishedAt);
}
