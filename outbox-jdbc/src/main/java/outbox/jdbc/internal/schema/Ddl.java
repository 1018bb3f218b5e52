package outbox.jdbc.internal.schema;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;

/** Executes DDL while other nodes may execute the same. */
public final class Ddl {

    private static final int MAX_TRIES = 3; // retries after a conflict with another node

    private Ddl() {}

    /** Executes statements that do nothing if what they create exists. Several nodes may do this at the same time. */
    public static void create(Connection connection, List<String> statements) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                execute(statement, sql);
            }
        }
    }

    /** Checks whether a migration has been done. */
    @FunctionalInterface
    public interface Made {
        boolean isMade() throws SQLException;
    }

    /**
     * Runs a migration if it has not been done. The check comes first, because MySQL has no IF NOT EXISTS for
     * columns, and PostgreSQL would lock the whole table for it. It runs in one transaction, so that with
     * transactional DDL no session sees a partial migration.
     */
    public static void migrate(Connection connection, List<String> statements, Made made) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            for (int tries = 1; !made.isMade(); tries++) {
                connection.commit(); // release the locks of the check
                try {
                    for (String sql : statements) {
                        statement.execute(sql);
                    }
                    connection.commit();
                } catch (SQLException e) {
                    connection.rollback();
                    if (tries >= MAX_TRIES && !made.isMade()) { // if the migration is done, another node was faster
                        throw e;
                    }
                }
            }
        } finally {
            connection.setAutoCommit(true);
        }
    }

    /**
     * Executes a DDL statement and retries once. On PostgreSQL two sessions can conflict in CREATE … IF NOT EXISTS;
     * the retry then finds what the other session created.
     */
    private static void execute(Statement statement, String sql) throws SQLException {
        try {
            statement.execute(sql);
        } catch (SQLException e) {
            try {
                statement.execute(sql);
            } catch (SQLException again) {
                again.addSuppressed(e);
                throw again;
            }
        }
    }
}
