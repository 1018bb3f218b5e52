package outbox.benchmarks;

import java.sql.Connection;
import java.sql.SQLException;
import javax.sql.DataSource;

/** A transaction on plain JDBC. */
final class RawTransaction {
    private RawTransaction() {}

    /** The work in the transaction. */
    interface Work {
        void run(Connection connection) throws SQLException;
    }

    static void run(DataSource dataSource, Work work) throws SQLException {
        try (Connection connection = dataSource.getConnection()) {
            connection.setAutoCommit(false);
            try {
                work.run(connection);
                connection.commit();
            } catch (SQLException | RuntimeException e) {
                connection.rollback();
                throw e;
            } finally {
                connection.setAutoCommit(true);
            }
        }
    }
}
