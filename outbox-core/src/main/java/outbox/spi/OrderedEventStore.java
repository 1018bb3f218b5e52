package outbox.spi;

import outbox.Experimental;
import outbox.order.BlockedAggregate;
import outbox.order.Ordering;

import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/**
 * A store that numbers its events, so that the events of an aggregate can be delivered in order. The database
 * assigns the number during the insert. An event that an operator skipped is no longer part of the order: it neither
 * waits for other events nor blocks them.
 */
@Experimental
public interface OrderedEventStore extends LeasingEventStore {

    /** Rejects a table that has no column for the number, and names the missing column. */
    void requireOrder(Connection conn);

    /**
     * Claims due events like {@link #claim}. Of the events that the ordering applies to, it claims only those
     * without an unfinished predecessor, and without a dead predecessor if dead events block their aggregate. This
     * avoids useless claims; {@link #positions} decides whether an event may start.
     */
    List<ClaimedEvent> claimInOrder(
            Connection conn,
            Claim claim,
            Instant now,
            Instant lockExpiry,
            Duration skipRecent,
            int limit,
            Ordering ordering);

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
}
