package outbox.spi;

import outbox.Experimental;
import outbox.order.BlockedAggregate;
import outbox.order.Ordering;

import java.sql.Connection;
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
}
