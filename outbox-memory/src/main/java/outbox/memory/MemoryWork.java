package outbox.memory;

import org.jspecify.annotations.Nullable;
import outbox.OutboxException;
import outbox.spi.TxContext;

import java.sql.Connection;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * Runs the work of a store in the right transaction: that of a {@link MemoryConnection}, the business transaction that
 * the store joins, or one of its own. The parts of the store share it. Thread-safe.
 */
final class MemoryWork {

    private final MemoryTable table;
    private final @Nullable JoinedTx joined;

    MemoryWork(MemoryTable table, @Nullable TxContext txContext) {
        this.table = table;
        this.joined = txContext == null ? null : new JoinedTx(txContext, table);
    }

    /** Rejects the commit if the changes in memory of this business transaction were undone already. */
    void checkCommit(Connection conn) {
        MemoryTx tx = joined == null ? null : joined.known(conn);
        if (tx != null) {
            table.requireOpen(tx);
        }
    }

    /** Runs the work in the transaction of the connection, completely or not at all. */
    <T> T in(Connection conn, Function<MemoryTx, T> work) {
        MemoryConnection ours = MemoryConnection.of(conn, table);
        if (ours != null) {
            if (ours.isClosed()) {
                throw new OutboxException("The connection is closed", null);
            }
            return ours.isAutoCommit() ? atOnce(work) : run(ours.tx(), work);
        }
        JoinedTx business = joined;
        if (business == null || !business.isCurrent(conn)) {
            return atOnce(work);
        }
        MemoryTx tx = business.of(conn);
        Joined<T> joining = table.alone(() -> {
            int before = tx.size();
            return new Joined<>(run(tx, work), before, tx.size() > before);
        });
        if (joining.hasChanged()) {
            join(business, conn, tx, joining.before());
        }
        return joining.answer();
    }

    /** The result of work in a joined transaction. */
    private record Joined<T>(T answer, int before, boolean hasChanged) {}

    private void join(JoinedTx business, Connection conn, MemoryTx tx, int before) {
        try {
            business.changed(conn, tx, before);
        } catch (RuntimeException | Error e) { // the end of the transaction would not be reported
            table.undoTo(tx, before);
            throw e;
        }
    }

    private <T> T atOnce(Function<MemoryTx, T> work) {
        MemoryTx tx = new MemoryTx();
        T answer = run(tx, work);
        table.commit(tx);
        return answer;
    }

    private <T> T run(MemoryTx tx, Function<MemoryTx, T> work) {
        return table.alone(() -> {
            int before = tx.size();
            try {
                return work.apply(tx);
            } catch (RuntimeException | Error e) {
                table.undoTo(tx, before);
                throw e;
            }
        });
    }

    /**
     * Changes the events that fulfil the condition, after waiting for other transactions that have changed them. If
     * the function returns null, the event is deleted.
     */
    Set<String> changeAll(
            Connection conn,
            Collection<String> eventIds,
            Predicate<RowState> condition,
            Function<RowState, @Nullable RowState> change) {
        return in(conn, tx -> {
            Set<String> changed = new HashSet<>();
            for (String eventId : eventIds) {
                if (change(tx, eventId, condition, change)) {
                    changed.add(eventId);
                }
            }
            return changed;
        });
    }

    boolean change(
            MemoryTx tx, String eventId, Predicate<RowState> condition, Function<RowState, @Nullable RowState> change) {
        Row row = table.row(eventId);
        if (row == null || row.isLockedFor(tx) && row.committed == null) {
            return false; // this transaction does not see the event
        }
        table.await(tx, row);
        RowState state = row.seenBy(tx);
        if (state == null || !condition.test(state)) {
            return false;
        }
        table.change(tx, row, change.apply(state));
        return true;
    }

    /** Marks the oldest of the rows as dead and returns their ids. */
    List<String> end(MemoryTx tx, List<Row> rows, int limit, Instant now, String reason) {
        List<String> ended = new ArrayList<>();
        for (Row row : MemoryClaims.first(rows, tx, MemoryClaims.OLDEST_FIRST, limit)) {
            RowState state = Objects.requireNonNull(row.seenBy(tx));
            table.change(tx, row, state.dead(now, reason));
            ended.add(row.eventId());
        }
        return ended;
    }
}
