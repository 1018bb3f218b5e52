package outbox.jdbc.internal.tx;

import outbox.jdbc.internal.sql.SqlStates;

import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Optional;

/** Reads the state of a transaction from the driver, without a round trip and without a dependency on the driver. */
public final class PostgresTransaction {

    private static final String IN_FAILED_TRANSACTION = "25P02";

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

    public static boolean hasFailed(Connection connection) throws SQLException {
        Connection physical = connection.unwrap(Connection.class);
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

    /** For other drivers: an aborted transaction refuses every statement. */
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
