package outbox.jdbc;

import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Optional;

/** Tells the state of a transaction from the driver's own memory, without depending on the driver. */
final class PostgresTransaction {

    private static final String IN_FAILED_TRANSACTION = "25P02";
    private static final String DRIVER = "org.postgresql.jdbc.PgConnection";
    private static final String POOL = "com.zaxxer.hikari.pool.HikariProxyConnection";

    private static final ClassValue<Optional<Method>> STATE = new ClassValue<>() {
        @Override
        protected Optional<Method> computeValue(Class<?> driverConnection) {
            try {
                return Optional.of(driverConnection.getMethod("getTransactionState"));
            } catch (NoSuchMethodException e) {
                return Optional.empty();
            }
        }
    };

    private PostgresTransaction() {}

    static boolean hasFailed(Connection connection) throws SQLException {
        TxScope scope = TxScope.of(connection);
        Connection physical = (scope == null ? connection : scope.physical()).unwrap(Connection.class);
        Optional<Method> state = STATE.get(physical.getClass());
        if (state.isEmpty()) {
            return probe(connection);
        }
        try {
            return String.valueOf(state.get().invoke(physical)).equals("FAILED");
        } catch (ReflectiveOperationException e) {
            return probe(connection);
        }
    }

    /** Whether a COMMIT in the text of a statement is the same as a call of commit: nobody stands between here and PostgreSQL's own driver who might want to know, but HikariCP. */
    static boolean commitsByText(Connection connection) throws SQLException {
        return isOf(connection, DRIVER) || isOf(connection, POOL) && isOf(connection.unwrap(Connection.class), DRIVER);
    }

    private static boolean isOf(Connection connection, String className) {
        return connection.getClass().getName().equals(className);
    }

    /** Another driver: a failed transaction refuses every statement. */
    private static boolean probe(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("SELECT 1");
            return false;
        } catch (SQLException e) {
            if (SqlStates.of(e).equals(IN_FAILED_TRANSACTION)) {
                return true;
            }
            throw e;
        }
    }
}
