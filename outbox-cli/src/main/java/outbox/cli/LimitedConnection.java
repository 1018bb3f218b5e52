package outbox.cli;

import org.jspecify.annotations.Nullable;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;

/**
 * A connection with a time limit for every statement. If a statement fails because it waited for a lock, its error
 * names the session that holds the lock. A second connection finds that session while the statement still waits.
 *
 * <p>On PostgreSQL and H2 the driver cancels the statement. So no setting stays in a session that a pool behind the
 * connection may pass to others. MySQL and MariaDB limit lock waits in the session; the socket timeout limits
 * everything else.
 */
final class LimitedConnection implements InvocationHandler {

    /** Opens the second connection. */
    @FunctionalInterface
    interface Opener {
        Connection open() throws SQLException;
    }

    private final Connection connection;
    private final Duration limit;
    private final boolean isMySql;
    private final Blockers blockers;

    private LimitedConnection(Connection connection, Duration limit, boolean isMySql, Blockers blockers) {
        this.connection = connection;
        this.limit = limit;
        this.isMySql = isMySql;
        this.blockers = blockers;
    }

    /** Wraps the connection, or closes it if it cannot be prepared. */
    static Connection of(Connection connection, String product, Duration limit, Opener opener) throws SQLException {
        try {
            boolean isMySql = product.equals("mysql");
            if (isMySql) {
                limitLocks(connection, Math.max(1, limit.toSeconds()));
            }
            Blockers blockers = Blockers.of(connection, product, opener);
            return proxy(Connection.class, new LimitedConnection(connection, limit, isMySql, blockers));
        } catch (SQLException e) {
            connection.close();
            throw e;
        }
    }

    private static void limitLocks(Connection connection, long seconds) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(
                    "SET SESSION innodb_lock_wait_timeout = " + seconds + ", SESSION lock_wait_timeout = " + seconds);
        }
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(
                Proxy.newProxyInstance(LimitedConnection.class.getClassLoader(), new Class<?>[] {type}, handler));
    }

    @Override
    public @Nullable Object invoke(Object proxy, Method method, @Nullable Object @Nullable [] arguments)
            throws Throwable {
        Object result = call(method, connection, arguments);
        if (result instanceof CallableStatement statement) {
            return proxy(CallableStatement.class, limited(statement));
        }
        if (result instanceof PreparedStatement statement) {
            return proxy(PreparedStatement.class, limited(statement));
        }
        return result instanceof Statement statement ? proxy(Statement.class, limited(statement)) : result;
    }

    private InvocationHandler limited(Statement statement) throws SQLException {
        if (!isMySql) {
            statement.setQueryTimeout((int) Math.max(1, limit.toSeconds()));
        }
        return (proxy, method, arguments) -> {
            if (!method.getName().startsWith("execute")) {
                return call(method, statement, arguments);
            }
            try (Blockers.Watch watch = blockers.watch(limit)) {
                try {
                    return call(method, statement, arguments);
                } catch (SQLException e) {
                    throw explained(e, watch);
                }
            }
        };
    }

    private SQLException explained(SQLException e, Blockers.Watch watch) {
        String blocker = watch.found();
        if (blocker == null && !watch.isOver()) {
            return e;
        }
        String text = "The database did not answer within " + TextTable.age(limit) + " (" + e.getMessage() + "). "
                + (blocker == null ? "Give more time by --timeout." : blocker);
        return isMySql
                // with the original error code the caller would retry and wait again
                ? new SQLException(text, "HYT00", e)
                : new SQLException(text, e.getSQLState(), e.getErrorCode(), e);
    }

    private static @Nullable Object call(Method method, Object target, @Nullable Object @Nullable [] arguments)
            throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause() == null ? e : e.getCause();
        }
    }
}
