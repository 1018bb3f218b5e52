package outbox.memory;

import org.jspecify.annotations.Nullable;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.Savepoint;

/**
 * A connection to a store in memory. It supports transactions and savepoints, but no statements. The interfaces
 * of the outbox require a connection; for events in memory, it only identifies the transaction. Used by one
 * thread at a time.
 */
final class MemoryConnection implements InvocationHandler {

    /** A savepoint: the number of changes that the transaction had made when it was set. */
    private record Place(MemoryTx tx, int size) implements Savepoint {

        @Override
        public int getSavepointId() {
            return size;
        }

        @Override
        public String getSavepointName() throws SQLException {
            throw new SQLFeatureNotSupportedException("Savepoints in memory have no names");
        }
    }

    private final MemoryTable table;
    private MemoryTx tx = new MemoryTx();
    private boolean autoCommit = true;
    private boolean closed;

    private MemoryConnection(MemoryTable table) {
        this.table = table;
    }

    static Connection open(MemoryTable table) {
        return (Connection) Proxy.newProxyInstance(
                MemoryConnection.class.getClassLoader(),
                new Class<?>[] {Connection.class},
                new MemoryConnection(table));
    }

    /** Returns the object behind the connection proxy, or null if the connection does not belong to this table. */
    static @Nullable MemoryConnection of(Connection connection, MemoryTable table) {
        return Proxy.isProxyClass(connection.getClass())
                        && Proxy.getInvocationHandler(connection) instanceof MemoryConnection ours
                        && ours.table == table
                ? ours
                : null;
    }

    MemoryTx tx() {
        return tx;
    }

    boolean isAutoCommit() {
        return autoCommit;
    }

    boolean isClosed() {
        return closed;
    }

    @Override
    public @Nullable Object invoke(Object proxy, Method method, @Nullable Object @Nullable [] args)
            throws SQLException {
        Object first = args == null || args.length == 0 ? null : args[0];
        switch (method.getName()) {
            case "close", "abort" -> close();
            case "isClosed" -> {
                return closed;
            }
            case "isValid" -> {
                return !closed;
            }
            case "equals" -> {
                return proxy == first;
            }
            case "hashCode" -> {
                return System.identityHashCode(proxy);
            }
            case "toString" -> {
                return "a connection to events in memory";
            }
            case "isReadOnly" -> {
                return false;
            }
            case "getNetworkTimeout" -> {
                return 0;
            }
            case "setNetworkTimeout" -> {}
            case "isWrapperFor" -> {
                return false;
            }
            case "getAutoCommit" -> {
                requireOpen();
                return autoCommit;
            }
            default -> {
                requireOpen();
                return inTransaction(method, first);
            }
        }
        return null;
    }

    private @Nullable Object inTransaction(Method method, @Nullable Object first) throws SQLException {
        switch (method.getName()) {
            case "setAutoCommit" -> {
                if (!autoCommit && Boolean.TRUE.equals(first)) {
                    commit();
                }
                autoCommit = Boolean.TRUE.equals(first);
            }
            case "commit" -> commit();
            case "rollback" -> {
                if (first == null) {
                    rollback();
                } else if (first instanceof Place place && place.tx() == tx) {
                    table.undoTo(tx, place.size());
                } else {
                    throw new SQLException("The savepoint is not of this transaction");
                }
            }
            case "setSavepoint" -> {
                return new Place(tx, table.sizeOf(tx));
            }
            case "releaseSavepoint" -> {}
            default ->
                throw new SQLFeatureNotSupportedException(
                        "Connection." + method.getName() + " is not available: the events are in memory");
        }
        return null;
    }

    private void commit() throws SQLException {
        MemoryTx committed = tx;
        tx = new MemoryTx();
        if (!table.commit(committed)) {
            throw new SQLException("The transaction lasted too long, and its events in memory were dropped", "40000");
        }
    }

    private void rollback() {
        MemoryTx undone = tx;
        tx = new MemoryTx();
        table.rollback(undone);
    }

    private void close() {
        if (!closed) {
            closed = true;
            table.rollback(tx);
        }
    }

    private void requireOpen() throws SQLException {
        if (closed) {
            throw new SQLNonTransientConnectionException("The connection is closed", "08003");
        }
    }
}
