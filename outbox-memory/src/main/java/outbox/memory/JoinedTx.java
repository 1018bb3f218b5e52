package outbox.memory;

import org.jspecify.annotations.Nullable;
import outbox.TransactionStateException;
import outbox.internal.ThrottledLog;
import outbox.internal.text.SafeLogger;
import outbox.spi.TxContext;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Map;

/**
 * Makes changes of events in memory part of another transaction, usually one of a database. The changes take effect
 * when that transaction commits. They are undone when it is rolled back, entirely or to a savepoint.
 *
 * <p>If the context does not report rollbacks to savepoints ({@link TxContext#whenUndone}), only the rollback of the
 * whole transaction undoes the changes.
 */
final class JoinedTx {

    private static final Logger LOG = SafeLogger.of(JoinedTx.class);

    private static final int MANY = 1000;

    private final TxContext context;
    private final MemoryTable table;
    private final ThrottledLog late = new ThrottledLog(LOG);
    private final ThrottledLog unknown = new ThrottledLog(LOG);
    // one entry per open transaction
    private final Map<Connection, MemoryTx> open = Collections.synchronizedMap(new IdentityHashMap<>());

    JoinedTx(TxContext context, MemoryTable table) {
        this.context = context;
        this.table = table;
    }

    /** Returns whether the connection belongs to the current transaction, which may be about to commit. */
    boolean isCurrent(Connection connection) {
        try {
            return context.isTransactionActive() && context.currentConnection() == connection;
        } catch (RuntimeException e) { // the context may throw between two states
            return false;
        }
    }

    /** Returns the changes of the transaction so far. */
    MemoryTx of(Connection connection) {
        MemoryTx known = open.get(connection);
        return known != null ? known : new MemoryTx();
    }

    @Nullable
    MemoryTx known(Connection connection) {
        return open.get(connection);
    }

    /** Registers new changes of the transaction. {@code before} is the number of changes before them. */
    void changed(Connection connection, MemoryTx tx, int before) {
        // before an entry is added, because the context would not report the end of the transaction
        if (context.visibility() == TxContext.Visibility.NONE) {
            throw new TransactionStateException(
                    "An event in memory cannot join this transaction, because its end cannot be told from that of"
                            + " another one on this thread. Write it outside of the inner transaction.");
        }
        if (open.size() > MANY) {
            open.values().removeIf(MemoryTx::isEnded); // the context did not report their end
        }
        boolean first = open.put(connection, tx) == null;
        if (first) {
            context.afterRollback(() -> rollback(connection, tx));
            context.whenUnknown(() -> {
                rollback(connection, tx);
                unknown.log(
                        Level.WARNING,
                        "Nobody knows whether a transaction with events in memory has committed; they are "
                                + "dropped, and a reconciliation writes them again",
                        null);
            });
        }
        context.afterCommit(() -> commit(connection, tx));
        context.whenUndone(() -> {
            table.undoTo(tx, before);
            if (before == 0) {
                open.remove(connection, tx); // no change is left, and the context will not report the commit
            }
        });
    }

    private void rollback(Connection connection, MemoryTx tx) {
        open.remove(connection, tx);
        table.rollback(tx);
    }

    /** Called for each change that was not undone. The first call commits. */
    private void commit(Connection connection, MemoryTx tx) {
        if (open.remove(connection, tx) && !table.commit(tx)) {
            late.log(
                    Level.WARNING,
                    "A transaction has committed after its events in memory were dropped, because it lasted too long",
                    null);
        }
    }
}
