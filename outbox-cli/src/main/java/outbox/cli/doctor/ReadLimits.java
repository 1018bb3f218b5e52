package outbox.cli.doctor;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * Limits how long a query may wait for a lock, and run. On PostgreSQL the limits belong to a read-only transaction,
 * so a pool that shares sessions does not pass them to other clients.
 */
final class ReadLimits {

    static final int LOCK_SECONDS = 3;
    static final int STATEMENT_SECONDS = 30;

    private ReadLimits() {}

    /** A query to the database. */
    interface Question<T> {
        T ask() throws SQLException;
    }

    static <T> T within(Connection connection, String database, Question<T> question) throws SQLException {
        boolean autoCommit = connection.getAutoCommit();
        boolean isPostgres = database.equals("postgresql");
        if (isPostgres) {
            connection.setAutoCommit(false);
        }
        try {
            set(connection, database);
            return question.ask();
        } finally {
            if (!connection.getAutoCommit()) {
                connection.rollback(); // ends a failed transaction, or releases the snapshot
            }
            if (isPostgres) {
                connection.setAutoCommit(autoCommit);
            }
        }
    }

    private static void set(Connection connection, String database) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            switch (database) {
                case "postgresql" -> {
                    statement.execute("SET TRANSACTION READ ONLY");
                    statement.execute("SET LOCAL lock_timeout = '" + LOCK_SECONDS + "s'");
                    statement.execute("SET LOCAL statement_timeout = '" + STATEMENT_SECONDS + "s'");
                }
                case "mysql" -> {
                    statement.execute("SET SESSION lock_wait_timeout = " + LOCK_SECONDS);
                    if (isMariaDb(connection)) {
                        statement.execute("SET SESSION max_statement_time = " + STATEMENT_SECONDS);
                    } else {
                        statement.execute("SET SESSION max_execution_time = " + STATEMENT_SECONDS * 1000);
                        // otherwise up to a day old
                        statement.execute("SET SESSION information_schema_stats_expiry = 0");
                    }
                }
                default -> {
                    statement.execute("SET LOCK_TIMEOUT " + LOCK_SECONDS * 1000);
                    statement.execute("SET QUERY_TIMEOUT " + STATEMENT_SECONDS * 1000);
                }
            }
        }
    }

    static boolean isMariaDb(Connection connection) throws SQLException {
        return connection.getMetaData().getDatabaseProductName().contains("MariaDB");
    }
}
