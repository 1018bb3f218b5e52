package outbox.spring.boot.actuate;

import org.jspecify.annotations.Nullable;
import outbox.spi.ConnectionProvider;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;

/**
 * Connections whose statements have a JDBC query timeout. A search in a large or locked table must not hold a
 * connection of the application for long. Thread-safe.
 */
final class TimeLimitedConnections implements ConnectionProvider {

    private final ConnectionProvider connections;
    private final int seconds;

    /** Rounds the limit up to whole seconds, the unit of JDBC. */
    TimeLimitedConnections(ConnectionProvider connections, Duration limit) {
        this.connections = connections;
        this.seconds = (int) limit.plusMillis(999).toSeconds();
    }

    @Override
    public Connection getConnection() throws SQLException {
        Connection connection = connections.getConnection();
        return (Connection) Proxy.newProxyInstance(
                TimeLimitedConnections.class.getClassLoader(),
                new Class<?>[] {Connection.class},
                new Limit(connection, seconds));
    }

    /** Used by one thread at a time, like its connection. */
    private static final class Limit implements InvocationHandler {

        private final Connection connection;
        private final int seconds;
        private int before = -1; // the value to restore; -1 while nothing was changed

        Limit(Connection connection, int seconds) {
            this.connection = connection;
            this.seconds = seconds;
        }

        @Override
        public @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] arguments) throws Throwable {
            if (method.getName().equals("close")) {
                restore();
            }
            Object result;
            try {
                result = method.invoke(connection, arguments);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
            if (result instanceof Statement statement) {
                limit(statement);
            }
            return result;
        }

        private void limit(Statement statement) throws SQLException {
            int own = statement.getQueryTimeout();
            if (own == 0 || own > seconds) {
                statement.setQueryTimeout(seconds);
                before = own;
            }
        }

        /** Restores the previous limit. H2 keeps the limit for the whole session, which returns to the pool. */
        private void restore() {
            if (before >= 0) {
                try (Statement statement = connection.createStatement()) {
                    statement.setQueryTimeout(before);
                } catch (SQLException e) { // the connection is broken or closed, and the pool discards it
                    before = -1;
                }
            }
        }
    }
}
