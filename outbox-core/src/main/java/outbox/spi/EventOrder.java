package outbox.spi;

import org.jspecify.annotations.Nullable;
import outbox.Experimental;
import outbox.order.Ordering;

import java.sql.Connection;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/**
 * The capability of a store that numbers its events, so that the events of an aggregate can be delivered in order.
 * The database assigns the number during the insert. An event that an operator skipped is no longer part of the order:
 * it neither waits for other events nor blocks them.
 *
 * <p>Such a store claims in order if {@link ClaimRequest#ordering} asks for it.
 */
@Experimental
public interface EventOrder {

    /** Rejects a table that has no column for the number, and names the missing column. */
    void requireOrder(Connection conn);

    /**
     * Returns the current position of each event in the order of its aggregate. An event that does not exist has
     * no entry.
     */
    Map<String, Position> positions(Connection conn, Collection<String> eventIds, Ordering ordering);

    /** Returns aggregates that have a dead event in their order, the longest blocked first. */
    List<BlockedAggregate> blockedAggregates(Connection conn, int limit);

    /**
     * Permanently removes those of the events that are DEAD from the order of their aggregate. Returns their number.
     */
    int skip(Connection conn, Collection<String> eventIds);

    /**
     * The position of an event in the order of its aggregate.
     *
     * @param number the number of the event, assigned by the database; a higher number means later. Zero or negative if
     * the event is no longer part of the order
     * @param unfinishedBefore the number of the nearest preceding event that is NEW or RETRY; 0 if there is none
     * @param deadBefore the number of the nearest preceding event that is DEAD; 0 if there is none
     */
    record Position(long number, long unfinishedBefore, long deadBefore) {}

    /**
     * An aggregate that has a dead event in its order. Depending on the ordering, later events wait, were parked with
     * the dead event, or were delivered after it.
     *
     * @param eventId the id of the first dead event
     * @param eventType the type of the first dead event
     * @param deadSince when the first dead event became DEAD
     * @param lastError the error of the first dead event
     * @param waiting the number of later events of the aggregate that are NEW or RETRY
     * @param alsoDead the number of later events of the aggregate that are DEAD, for example because they were parked
     * @param oldestWaiting when the oldest waiting event was stored; null if none waits
     */
    record BlockedAggregate(
            @Nullable String aggregateType,
            String aggregateId,
            String eventId,
            String eventType,
            @Nullable Instant deadSince,
            @Nullable String lastError,
            long waiting,
            long alsoDead,
            @Nullable Instant oldestWaiting) {}
}
