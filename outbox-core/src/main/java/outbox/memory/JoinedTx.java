package outbox.memory;

import org.jspecify.annotations.Nullable;
import outbox.TransactionStateException;
import outbox.internal.QuietLog;
import outbox.spi.SafeLogger;
import outbox.spi.TxContext;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Map;

/**
 * Changes of events in memory as part of a transaction of something else, usually of a database: they hold once that has committed, and are taken back with it or with its savepoint.
 *
 * <p>A context that does not tell about savepoints ({@link TxContext#whenUndone}) only lets whole transactions be taken back.
 */
final class JoinedTx {

    private static final Logger LOG = SafeLogger.of(JoinedTx.class);

    private static final int MANY = 1000;

    private final TxContext context;
    private final MemoryTable table;
    private final QuietLog late = new QuietLog(LOG);
    private final QuietLog unknown = new QuietLog(LOG);
    private final Map<Connection, MemoryTx> open =
            Collections.synchronizedMap(new IdentityHashMap<>()); // as many as there are transactions

    JoinedTx(TxContext context, MemoryTable table) {
        this.context = context;
        this.table = table;
    }

    /** Whether the connection is that of the current transaction, which may be about to commit. */
    boolean isCurrent(Connection connection) {
        try {
            return context.isTransactionActive() && context.currentConnection() == connection;
        } catch (RuntimeException e) { // of a context between two states
            return false;
        }
    }

    /** What the transaction has done so far. */
    MemoryTx of(Connection connection) {
        MemoryTx known = open.get(connection);
        return known != null ? known : new MemoryTx();
    }

    @Nullable
    MemoryTx known(Connection connection) {
        return open.get(connection);
    }

    /** The transaction has changed something, beyond what it had done before. */
    void changed(Connection connection, MemoryTx tx, int before) {
        if (context.visibility() == TxContext.Visibility.NONE) { // before anything is kept for an end that nobody tells
            throw new TransactionStateException(
                    "An event in memory cannot join this transaction, because its end cannot be told from that of"
                            + " another one on this thread. Write it outside of the inner transaction.");
        }
        if (open.size() > MANY) {
            open.values().removeIf(MemoryTx::isEnded); // whose own end nobody told
        }
        boolean first = open.put(connection, tx) == null;
        if (first) {
            context.afterRollback(() -> rollback(connection, tx));
            context.whenUnknown(() -> {
                rollback(connection, tx);
                unknown.log(
                        Level.WARNING,
                        "Nobody knows whether a transaction with events in memory has committed; they are dropped, and a reconciliation writes them again",
                        null);
            });
        }
        context.afterCommit(() -> commit(connection, tx));
        context.whenUndone(() -> {
            table.undoTo(tx, before);
            if (before == 0) {
                open.remove(connection, tx); // nothing of it is left, and nobody tells about its commit
            }
        });
    }

    private void rollback(Connection connection, MemoryTx tx) {
        open.remove(connection, tx);
        table.rollback(tx);
    }

    /** Told for each change that was not undone; the first time does it. */
    private void commit(Connection connection, MemoryTx tx) {
        if (open.remove(connection, tx) && !table.commit(tx)) {
            late.log(
                    Level.WARNING,
                    "A transaction has committed after its events in memory were dropped, because it lasted too long",
                    null);
        }
    }
}
