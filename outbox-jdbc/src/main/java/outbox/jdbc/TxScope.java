package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.spi.TxCallbacks;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * One transaction: its connection and what is to happen after it. The connection that business code gets is a proxy that sees savepoints, so that what was registered after a
 * savepoint is forgotten when the transaction is rolled back to it; and that sees what uses it, so that an insert can wait for the next use or the commit. Used by one thread.
 */
final class TxScope implements InvocationHandler {

    private static final int MAX_OPEN = 16;

    private final Connection physical;
    private final @Nullable TxScope suspended;
    private final Connection connection;
    private final TxCallbacks callbacks = new TxCallbacks();
    private final List<Statement> statements = new ArrayList<>(1); // that may still be open
    private boolean evadable; // somebody may use the database without being seen here
    private @Nullable WaitingInsert waiting;
    private boolean readOnly;

    TxScope(Connection physical, boolean readOnly, @Nullable TxScope suspended) {
        this.physical = physical;
        this.suspended = suspended;
        this.readOnly = readOnly;
        this.connection = (Connection)
                Proxy.newProxyInstance(TxScope.class.getClassLoader(), new Class<?>[] {Connection.class}, this);
    }

    /** The transaction that the connection belongs to; null if it is none of ours. */
    static @Nullable TxScope of(Connection connection) {
        return Proxy.isProxyClass(connection.getClass())
                        && Proxy.getInvocationHandler(connection) instanceof TxScope scope
                ? scope
                : null;
    }

    Connection connection() {
        return connection;
    }

    Connection physical() {
        return physical;
    }

    /** The transaction of the same thread that goes on when this one has ended; null if there is none. */
    @Nullable
    TxScope suspended() {
        return suspended;
    }

    /** Known without asking the server, which some drivers do for each question. */
    boolean isReadOnly() {
        return readOnly;
    }

    TxCallbacks callbacks() {
        return callbacks;
    }

    /** Runs the insert before anything else that the transaction does from now on, at the latest with its commit; false, and nothing is kept, if something could come before it unseen. */
    boolean postpone(WaitingInsert insert) throws SQLException {
        if (evadable || hasOpenStatements()) {
            return false;
        }
        runWaiting();
        waiting = insert;
        return true;
    }

    void commit() throws SQLException {
        WaitingInsert insert = waiting;
        waiting = null;
        if (insert == null) {
            physical.commit();
        } else {
            insert.runAndCommit(physical);
        }
    }

    /** The transaction ends without a commit: nothing waits any more. */
    Connection givenUp() {
        waiting = null;
        return physical;
    }

    boolean isWaiting() {
        return waiting != null;
    }

    private void runWaiting() throws SQLException {
        if (waiting != null) {
            waiting.run(physical);
            waiting = null; // not before: if the caller swallows a failure, the commit must fail by it again
        }
    }

    private boolean hasOpenStatements() throws SQLException {
        for (int i = statements.size() - 1; i >= 0; i--) {
            if (!statements.get(i).isClosed()) {
                return true;
            }
            statements.remove(i);
        }
        return false;
    }

    private Statement seen(Statement statement) throws SQLException {
        if (!evadable) {
            if (statements.size() == MAX_OPEN && hasOpenStatements()) {
                evadable = true;
                statements.clear();
            } else {
                statements.add(statement);
            }
        }
        return statement;
    }

    @Override
    public @Nullable Object invoke(Object proxy, Method method, @Nullable Object @Nullable [] args) throws Throwable {
        switch (method.getName()) {
            case "commit", "setAutoCommit" -> throw refused(method);
            case "rollback" -> {
                if (args == null) {
                    throw refused(method);
                }
                Object result = call(method, args);
                waiting = null; // what was written before the savepoint has run before it
                callbacks.savepointRollback(Objects.requireNonNull(args[0]));
                return result;
            }
            case "setSavepoint" -> {
                runWaiting();
                Object savepoint = call(method, args);
                callbacks.savepoint(savepoint);
                return savepoint;
            }
            case "setReadOnly" -> {
                runWaiting();
                Object result = call(method, args);
                readOnly = physical.isReadOnly();
                return result;
            }
            case "close" -> {
                return null; // ends with its transaction
            }
            case "equals" -> {
                return args != null && proxy == args[0];
            }
            case "hashCode" -> {
                return System.identityHashCode(proxy);
            }
            case "getAutoCommit", "isClosed", "toString" -> {
                return call(method, args);
            }
            case "createStatement", "prepareStatement", "prepareCall" -> {
                runWaiting();
                return seen((Statement) call(method, args));
            }
            default -> {
                runWaiting();
                evadable |=
                        method.getName().equals("unwrap") || method.getName().equals("getMetaData");
                return call(method, args);
            }
        }
    }

    private static SQLException refused(Method method) {
        return new SQLException(
                "Connection." + method.getName()
                        + " is not available inside a transaction of JdbcTransactionManager: use commit, rollback and close of the Transaction");
    }

    private Object call(Method method, @Nullable Object @Nullable [] args) throws Throwable {
        try {
            return method.invoke(physical, args);
        } catch (InvocationTargetException e) {
            throw e.getTargetException();
        }
    }
}
