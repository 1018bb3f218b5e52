package outbox.memory;

import outbox.model.EventStatus;
import outbox.order.Ordering;
import outbox.spi.EventOrder;
import outbox.spi.EventOrder.BlockedAggregate;
import outbox.spi.EventOrder.Position;

import java.sql.Connection;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/** The order of the events in memory. Thread-safe. */
final class MemoryOrder implements EventOrder {

    private final MemoryTable table;
    private final MemoryWork work;
    private final MemoryClaims claims;

    MemoryOrder(MemoryTable table, MemoryWork work, MemoryClaims claims) {
        this.table = table;
        this.work = work;
        this.claims = claims;
    }

    @Override
    public void requireOrder(Connection conn) {}

    @Override
    public Map<String, Position> positions(Connection conn, Collection<String> eventIds, Ordering ordering) {
        return work.in(conn, tx -> {
            table.claimedIn(ordering);
            return claims.positions(tx, eventIds, ordering);
        });
    }

    @Override
    public List<BlockedAggregate> blockedAggregates(Connection conn, int limit) {
        return work.in(conn, tx -> claims.blocked(tx, limit));
    }

    @Override
    public int skip(Connection conn, Collection<String> eventIds) {
        return work.changeAll(
                        conn,
                        eventIds,
                        state -> state.status() == EventStatus.DEAD
                                && state.number() > 0
                                && state.event().aggregateId() != null,
                        RowState::skipped)
                .size();
    }
}
