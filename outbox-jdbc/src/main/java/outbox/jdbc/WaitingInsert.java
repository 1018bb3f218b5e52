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
        run(connection, sql);
    }

    /** If the INSERT fails, the server passes over the COMMIT. */
    void runAndCommit(Connection connection) throws SQLException {
        run(connection, andCommit);
        connection.commit(); // for whoever is between here and the driver, which knows that nothing is left to do
    }

    private void run(Connection connection, String text) throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement(text)) {
            binding.bind(insert);
            insert.execute();
        }
    }
}
