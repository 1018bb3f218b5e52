package outbox.samples.demo;

import org.h2.jdbcx.JdbcConnectionPool;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;

/** The database of the shop and the queries about it. They are plain SQL and do not use the outbox. */
final class ShopDatabase implements AutoCloseable {

    private static final int CONNECTIONS = 16;

    private final JdbcConnectionPool pool;

    ShopDatabase(Path directory) throws SQLException {
        // Closed only by this class, because the summary still needs it after Ctrl-C.
        pool = JdbcConnectionPool.create(
                "jdbc:h2:file:" + directory.resolve("shop") + ";DB_CLOSE_ON_EXIT=FALSE", "", "");
        pool.setMaxConnections(CONNECTIONS);
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE orders (number BIGINT PRIMARY KEY, country VARCHAR(60) NOT NULL)");
        }
    }

    DataSource dataSource() {
        return pool;
    }

    long orders() throws SQLException {
        return count("SELECT COUNT(*) FROM orders");
    }

    long events() throws SQLException {
        return count("SELECT COUNT(*) FROM outbox_event");
    }

    long done() throws SQLException {
        return count("SELECT COUNT(*) FROM outbox_event WHERE status = 1");
    }

    /** Returns the number of events that are not delivered yet. */
    long pending() throws SQLException {
        return count("SELECT COUNT(*) FROM outbox_event WHERE status IN (0, 2)");
    }

    long ordersWithoutEvent() throws SQLException {
        return count("""
                SELECT COUNT(*)
                  FROM orders
                 WHERE CAST(number AS VARCHAR) NOT IN (SELECT aggregate_id FROM outbox_event)
                """);
    }

    List<DeadEvent> dead() throws SQLException {
        try (Connection connection = pool.getConnection();
                PreparedStatement select = connection.prepareStatement("""
                        SELECT aggregate_id, attempts, last_error
                          FROM outbox_event
                         WHERE status = 3
                         ORDER BY created_at
                        """);
                ResultSet rows = select.executeQuery()) {
            List<DeadEvent> dead = new ArrayList<>();
            while (rows.next()) {
                dead.add(new DeadEvent(rows.getString(1), rows.getInt(2), rows.getString(3)));
            }
            return dead;
        }
    }

    private long count(String sql) throws SQLException {
        try (Connection connection = pool.getConnection();
                PreparedStatement select = connection.prepareStatement(sql);
                ResultSet row = select.executeQuery()) {
            row.next();
            return row.getLong(1);
        }
    }

    @Override
    public void close() {
        pool.dispose();
    }

    /** A dead event, and the reason. */
    record DeadEvent(String order, int attempts, String reason) {}
}
