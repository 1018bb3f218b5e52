package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.TransactionStateException;
import outbox.internal.text.SafeLogger;
import outbox.jdbc.internal.sql.SqlStates;
import outbox.jdbc.internal.tx.TxScope;
import outbox.spi.ConnectionProvider;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Objects;

/**
 * Transactions on plain JDBC, for programs without a framework:
 *
 * <pre>{@code
 * try (Transaction tx = transactions.begin()) {
 *     // business statements on tx.connection(), events by the writer
 *     tx.commit();
 * } // rolled back if the commit was not reached
 * }</pre>
 *
 * <p>The callbacks of a transaction run after its connection was returned to the pool. Thread-safe. A transaction
 * belongs to the thread that began it.
 */
public final class JdbcTransactionManager {

    private static final Logger LOG = SafeLogger.of(JdbcTransactionManager.class);

    private final ConnectionProvider connectionProvider;
    private final ThreadLocalTxContext txContext;
    // Read once, because some drivers query the server on each call.
    private volatile @Nullable Boolean readOnlyPool;

    public JdbcTransactionManager(ConnectionProvider connectionProvider, ThreadLocalTxContext txContext) {
        this.connectionProvider = Objects.requireNonNull(connectionProvider, "connectionProvider");
        this.txContext = Objects.requireNonNull(txContext, "txContext");
    }

    /**
     * Begins a transaction on this thread. An active transaction is suspended until the new one ends. The two
     * are independent.
     */
    public Transaction begin() {
        Connection connection = null;
        try {
            connection = connectionProvider.getConnection();
            boolean autoCommit = connection.getAutoCommit();
            if (autoCommit) {
                connection.setAutoCommit(false);
            }
            TxScope scope = new TxScope(connection, isReadOnlyPool(connection), txContext.innermost());
            txContext.enter(scope);
            return new Transaction(scope, autoCommit);
        } catch (SQLException e) {
            if (connection != null) {
                abandon(connection);
            }
            throw new EventStoreException("Cannot begin a transaction: " + e.getMessage(), e);
        } catch (RuntimeException | Error e) {
            if (connection != null) {
                abandon(connection);
            }
            throw e;
        }
    }

    private boolean isReadOnlyPool(Connection connection) throws SQLException {
        Boolean known = readOnlyPool;
        if (known == null) {
            known = connection.isReadOnly();
            readOnlyPool = known;
        }
        return known;
    }

    /** Aborts a connection in an unknown state, so that it is not used again. */
    static void abandon(Connection connection) {
        try (connection) {
            connection.abort(Runnable::run);
        } catch (SQLException e) {
            LOG.log(Level.DEBUG, "A broken connection could not even be aborted", e);
        }
    }

    /** A transaction of the thread that began it. */
    public final class Transaction implements AutoCloseable {

        private final TxScope scope;
        private final boolean autoCommit;
        private boolean ended;

        private Transaction(TxScope scope, boolean autoCommit) {
            this.scope = scope;
            this.autoCommit = autoCommit;
        }

        /**
         * Returns the connection for business statements. Savepoints are supported. Use the methods of this class
         * for commit and rollback, and do not change auto-commit.
         */
        public Connection connection() {
            return scope.connection();
        }

        /**
         * Commits. If the database refuses, everything is rolled back and an {@link EventStoreException}
         * contains the reason. If the connection broke, a {@link CommitOutcomeUnknownException} says that the
         * outcome is unknown.
         */
        public void commit() {
            requireActive();
            try {
                scope.callbacks().committing();
            } catch (RuntimeException | Error e) {
                rollback();
                throw e;
            }
            end();
            try {
                scope.physical().commit();
            } catch (SQLException e) {
                if (SqlStates.isOutcomeUnknown(e)) {
                    throw unknown(e);
                }
                rollBackPhysical();
                scope.callbacks().rolledBack();
                throw new EventStoreException("The commit failed and everything was rolled back: " + e.getMessage(), e);
            } catch (RuntimeException | Error e) { // thrown by the driver; the outcome is unknown
                throw unknown(e);
            }
            giveBack();
            scope.callbacks().committed();
        }

        private CommitOutcomeUnknownException unknown(Throwable cause) {
            abandon(scope.physical());
            scope.callbacks().unknown();
            return new CommitOutcomeUnknownException(cause);
        }

        /** Rolls back. If the connection is broken, no error is reported, because the server rolls back. */
        public void rollback() {
            end();
            rollBackPhysical();
            scope.callbacks().rolledBack();
        }

        /** Rolls back if the transaction was neither committed nor rolled back. */
        @Override
        public void close() {
            if (!ended) {
                rollback();
            }
        }

        private void requireActive() {
            if (ended) {
                throw new TransactionStateException("The transaction has already ended");
            }
            txContext.requireCurrent(scope);
        }

        private void end() {
            requireActive();
            txContext.leave();
            ended = true;
        }

        private void rollBackPhysical() {
            try {
                scope.physical().rollback();
                giveBack();
            } catch (SQLException e) {
                LOG.log(Level.WARNING, "The rollback failed; its connection is dropped and the server rolls back", e);
                abandon(scope.physical());
            }
        }

        private void giveBack() {
            try {
                if (autoCommit) {
                    scope.physical().setAutoCommit(true);
                }
                scope.physical().close();
            } catch (SQLException e) {
                LOG.log(Level.WARNING, "A connection could not be given back in its former state and is dropped", e);
                abandon(scope.physical());
            }
        }
    }
}
