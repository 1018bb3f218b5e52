package outbox.spi;

import outbox.admin.BlockedAggregate;
import outbox.order.Ordering;

import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/**
 * A store that numbers its events, so that those of an aggregate can be delivered in order. The number comes from the database, by the insert. An event that was skipped by an operator
 * has left the order: it neither waits nor makes others wait.
 */
public interface OrderedEventStore extends LeasingEventStore {

    /** Refuses, with the name of what is missing, a table that has no place for the number. */
    void requireOrder(Connection conn);

    /**
     * Takes due events like {@link #claim}, but of those that the ordering applies to only such as have no unfinished predecessor, and, where a dead event blocks its aggregate, no
     * dead one. This saves useless claims; that an event may start is decided by {@link #positions}.
     */
    List<ClaimedEvent> claimInOrder(
            Connection conn,
            Claim claim,
            Instant now,
            Instant lockExpiry,
            Duration skipRecent,
            int limit,
            Ordering ordering);

    /** Where the events stand in the order of their aggregates now; an event that is not there has no entry. */
    Map<String, Position> positions(Connection conn, Collection<String> eventIds, Ordering ordering);

    /** Aggregates that have a dead event in their order, the longest blocked first. */
    List<BlockedAggregate> blockedAggregates(Connection conn, int limit);

    /** Takes those of the events that are DEAD out of the order of their aggregate, for good; answers how many. */
    int skip(Connection conn, Collection<String> eventIds);
}
