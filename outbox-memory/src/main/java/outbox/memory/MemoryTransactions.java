package outbox.memory;

import org.jspecify.annotations.Nullable;
import outbox.OutboxException;
import outbox.TransactionStateException;
import outbox.spi.ErrorText;
import outbox.spi.TxCallbacks;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Objects;
import java.util.concurrent.Callable;

/**
 * Transactions of a {@link MemoryEventStore} for programs without a database. The events of a transaction are
 * delivered if it ends without an exception. Otherwise they are dropped. Thread-safe; each transaction belongs
 * to one thread.
 */
public final class MemoryTransactions extends TxCallbacks.Context {

    private record Current(Connection connection, TxCallbacks callbacks) {}

    @SuppressWarnings("ThreadLocalUsage") // not static: each store has separate transactions
    private final ThreadLocal<@Nullable Current> current = new ThreadLocal<>();

    private final MemoryEventStore store;

    public MemoryTransactions(MemoryEventStore store) {
        this.store = Objects.requireNonNull(store, "store");
    }

    /** Runs the work in a new transaction, or in the current transaction of this thread. */
    public void run(Runnable work) {
        call(() -> {
            work.run();
            return true;
        });
    }

    /**
     * Runs the work in a new transaction, or in the current transaction of this thread. In the second case, the
     * outer call ends the transaction. A checked exception is thrown as the cause of an {@link OutboxException}.
     * After an {@link InterruptedException}, the thread stays interrupted.
     */
    public <T> T call(Callable<T> work) {
        boolean isInner = current.get() != null;
        try {
            return isInner ? work.call() : begin(work);
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            if (e instanceof InterruptedException) {
                Thread.currentThread().interrupt();
            }
            String what = isInner ? "Work in a transaction that goes on failed: " : "The transaction was rolled back: ";
            throw new OutboxException(what + ErrorText.of(e), e);
        }
    }

    private <T> T begin(Callable<T> work) throws Exception {
        try (Connection connection = store.connections().getConnection()) {
            connection.setAutoCommit(false);
            Current tx = new Current(connection, new TxCallbacks());
            current.set(tx);
            T answer;
            try {
                answer = work.call();
                tx.callbacks().committing();
                current.remove();
                connection.commit();
            } catch (Throwable e) {
                current.remove();
                rollback(tx, e);
                throw e;
            }
            tx.callbacks().committed();
            return answer;
        }
    }

    private static void rollback(Current tx, Throwable cause) {
        try {
            tx.connection().rollback();
        } catch (SQLException e) {
            cause.addSuppressed(e);
        }
        tx.callbacks().rolledBack();
    }

    private Current current() {
        Current tx = current.get();
        if (tx == null) {
            throw new TransactionStateException(
                    "No transaction is active on this thread. Write events inside MemoryTransactions.run().");
        }
        return tx;
    }

    @Override
    public boolean isTransactionActive() {
        return current.get() != null;
    }

    @Override
    public Connection currentConnection() {
        return current().connection();
    }

    @Override
    protected TxCallbacks callbacks() {
        return current().callbacks();
    }

    @Override
    public boolean isReadOnly() {
        return false;
    }
}
