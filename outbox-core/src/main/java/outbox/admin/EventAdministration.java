package outbox.admin;

import org.jspecify.annotations.Nullable;
import outbox.EventHeaders;
import outbox.Experimental;
import outbox.admin.EventDetails.Attempt;
import outbox.admin.OutboxStatistics.TypeCount;
import outbox.model.EventStatus;
import outbox.spi.EventStore;
import outbox.util.JsonCodec;

import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * The capability of a store to be administered and purged, and to keep a history of attempts. Filter values are always
 * bound, never inserted into the text of a statement.
 *
 * <p>If the store has no table for audit records, the methods about audit throw an {@link outbox.OutboxException}
 * that names what is missing. All other methods work without that table. The history of attempts is a side table too;
 * a store without a history keeps the defaults.
 */
@Experimental
public interface EventAdministration {

    /**
     * Returns this capability of a store.
     *
     * @throws IllegalArgumentException if the store does not have it
     */
    static EventAdministration of(EventStore store) {
        return store.capability(EventAdministration.class)
                .orElseThrow(() -> new IllegalArgumentException("eventStore "
                        + store.getClass().getName() + " cannot be administered: it does not implement "
                        + EventAdministration.class.getName()));
    }

    /** Counts events by type and status code, including unknown codes. */
    List<TypeCount> countByType(Connection conn);

    /** Returns when the oldest NEW or RETRY event was stored. */
    Optional<Instant> oldestPending(Connection conn);

    /** Counts NEW and RETRY events in one statement that does not read finished events. */
    Backlog backlog(Connection conn);

    /**
     * Counts DEAD events. Without an index for them, this reads the whole table. It therefore has a short time
     * limit, if the store can set one, and fails when the limit is exceeded.
     */
    default long countDead(Connection conn) {
        return count(conn, EventFilter.builder().status(EventStatus.DEAD).build());
    }

    /** Reads one event with all stored data. */
    Optional<EventDetails> find(Connection conn, String eventId);

    /**
     * Reads a page in the order of the query. Finds the start of the page by a condition on the key, never by
     * an offset.
     */
    List<EventSummary> find(Connection conn, EventQuery query);

    /** Counts the events that match the filter. */
    long count(Connection conn, EventFilter filter);

    /** Returns the ids of events that match the filter, oldest first; by sequence number if the events have one. */
    List<String> findIds(Connection conn, EventFilter filter, int limit);

    /**
     * Makes those of the events pending again whose status the replay includes, with zero attempts, no deadline, and
     * the marks of the replay in their headers. The due time of each event follows from its index in the list. A
     * dead event keeps its last error; a delivered event has none. An event whose key another event now has is not
     * changed. Returns the number of changed events.
     */
    int replay(Connection conn, List<String> eventIds, Replay how);

    /** Deletes those of the events that are DEAD. Returns their number. */
    int discard(Connection conn, Collection<String> eventIds);

    /**
     * Deletes up to {@code limit} events that became DONE or DEAD before the given time, and returns their
     * number. If the database can skip locked rows, it does not wait for them. An event without such a time is
     * never deleted.
     */
    int purge(Connection conn, EventStatus terminal, Instant doneBefore, int limit);

    /** Reads the audit record of a request. */
    Optional<AuditEntry> audit(Connection conn, String requestId);

    /** Returns the latest audit records of requests about events of this table, newest first. */
    List<AuditEntry> audits(Connection conn, int limit);

    /**
     * Returns the holders of claims on unfinished events in any order, one per token. The token is in the field for
     * the node. If the store has no tokens, returns one holder without a name.
     */
    List<ClaimHolder> claimHolders(Connection conn);

    /**
     * Ends the leases of those of the events that are still claimed as the filter states. Any node may claim them
     * immediately and receives them as suspects. Returns the number of changed events.
     *
     * @param filter states the node and the time of the claim; both are required
     */
    int releaseClaims(Connection conn, Collection<String> eventIds, EventFilter filter);

    /**
     * Makes those of the events due at {@code now} that are unfinished, not claimed, and due later. Returns
     * their number.
     */
    int makeDue(Connection conn, Collection<String> eventIds, Instant now);

    /**
     * Writes the audit record of a request that starts. Returns false if a record with its id exists; the
     * transaction can continue in that case. Waits for another transaction that writes the same id.
     */
    boolean beginAudit(Connection conn, AuditEntry entry);

    /**
     * Adds to the number of events that the request changed. If {@code finishedAt} is given, marks the request
     * as finished.
     */
    void progressAudit(Connection conn, String requestId, int affected, @Nullable Instant finishedAt);

    /** Whether the table may be partitioned by time. Otherwise, {@link #keepPartitions} is not called. */
    default boolean mayBePartitioned() {
        return false;
    }

    /**
     * Creates the partitions of the coming days. Drops partitions in which every event was delivered longer ago than
     * the retention. Partitions that other transactions are using are left for the next call.
     *
     * @param conn a connection whose transaction contains no other work, because each change commits
     * @return false if the table has no partitions that this store created; then nothing was changed
     */
    default boolean keepPartitions(Connection conn, Duration retention) {
        throw new UnsupportedOperationException("This store has no partitions");
    }

    /**
     * Whether the table for the history of attempts exists; the result may be up to one minute old. Does not fail if
     * the table is missing. {@link EventDetails#history} shows the history.
     */
    default boolean keepsAttempts(Connection conn) {
        return false;
    }

    /**
     * Adds attempts and deletes all but the last {@code keep} attempts of each of their events. Not called unless
     * the store keeps attempts.
     */
    default void addAttempts(Connection conn, List<Attempt> attempts, int keep) {
        throw new UnsupportedOperationException("This store keeps no attempts");
    }

    /** Deletes all attempts of the events. Not called unless the store keeps attempts. */
    default void forgetAttempts(Connection conn, Collection<String> eventIds) {
        throw new UnsupportedOperationException("This store keeps no attempts");
    }

    /**
     * Deletes up to {@code limit} attempts from before the given time whose events no longer exist. Returns
     * their number. Not called unless the store keeps attempts.
     */
    default int purgeAttempts(Connection conn, Instant before, int limit) {
        throw new UnsupportedOperationException("This store keeps no attempts");
    }

    /**
     * A node that holds claims on unfinished events.
     *
     * @param node the name of the node as in its tokens, followed by a slash and the id of its run; null if the table
     * has no tokens
     * @param events the number of events that the node holds, including expired leases
     * @param oldest the earliest time at which one of these leases began or was last renewed
     * @param newest the latest time at which one of these leases began or was last renewed; a live node renews
     * its claims
     */
    record ClaimHolder(@Nullable String node, long events, Instant oldest, Instant newest) {}

    /**
     * Describes how events are made pending again.
     *
     * @param requestId the id of the replay request; the value of header {@link EventHeaders#REPLAY}
     * @param from the statuses to replay: DEAD, DONE or RETRY. Events with another status are not changed, nor are
     * RETRY events that are claimed. A RETRY event keeps its status; it becomes due again with zero attempts
     * @param listener the name of the only listener that may receive the events, the value of header
     * {@link EventHeaders#REPLAY_TO}; null for the listener of their route, whatever its name
     * @param firstDue the due time of the first event
     * @param step the interval between the due times of consecutive events
     */
    record Replay(
            String requestId,
            Set<EventStatus> from,
            @Nullable String listener,
            Instant firstDue,
            Duration step) {

        /** The smallest step. It gives events that are replayed together different due times. */
        public static final Duration NO_PAUSE = Duration.ofNanos(1000);

        public Replay {
            Objects.requireNonNull(requestId, "requestId");
            Objects.requireNonNull(firstDue, "firstDue");
            from = Set.copyOf(from);
            if (from.isEmpty() || from.contains(EventStatus.NEW)) {
                throw new IllegalArgumentException("Only DONE, DEAD and RETRY events can be replayed, not " + from);
            }
            if (step.isNegative()) {
                throw new IllegalArgumentException("step must not be negative: " + step);
            }
        }

        /** Replays dead events to the listener of their route, without a pause between them. */
        public static Replay dead(String requestId, Instant now) {
            return new Replay(requestId, Set.of(EventStatus.DEAD), null, now, NO_PAUSE);
        }

        /** Returns the due time of the event with the given index. */
        public Instant dueAt(int index) {
            return firstDue.plus(step.multipliedBy(index));
        }

        /**
         * Returns the headers with the marks of this replay and without those of an earlier replay. Headers that cannot
         * be parsed are returned unchanged.
         */
        public @Nullable String mark(@Nullable String headersJson) {
            Map<String, String> headers;
            try {
                headers = new LinkedHashMap<>(JsonCodec.parseObject(headersJson));
            } catch (IllegalArgumentException e) {
                return headersJson;
            }
            headers.put(EventHeaders.REPLAY, requestId);
            headers.remove(EventHeaders.REPLAY_TO);
            if (listener != null) {
                headers.put(EventHeaders.REPLAY_TO, listener);
            }
            return JsonCodec.toJson(headers);
        }
    }
}
