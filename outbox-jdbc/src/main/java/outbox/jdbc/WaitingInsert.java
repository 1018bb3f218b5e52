package outbox.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;

/**
 * An INSERT that nobody needs to see yet, so that it can share a round trip with the commit.
 *
 * @param andCommit the same statement, followed by a COMMIT
 */
record WaitingInsert(String sql, String andCommit, AbstractJdbcEventStore.Binding binding) {

    void run(Connection connection) throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement(sql)) {
            binding.bind(insert);
            insert.executeUpdate();
        }
    }

    /** If the INSERT fails, the transaction has failed, and the server does not commit it. What fails after the COMMIT says nothing about the transaction, so it has no state. */
    void runAndCommit(Connection connection) throws SQLException {
        boolean committed = false;
        try (PreparedStatement insert = connection.prepareStatement(andCommit)) {
            binding.bind(insert);
            insert.execute();
            committed = true;
            connection.commit(); // for the pool; the driver knows that nothing is left to do
        } catch (SQLException e) {
            throw committed
                    ? new SQLException("The connection failed after the commit: " + e.getMessage(), null, e)
                    : e;
        }
    }
}
