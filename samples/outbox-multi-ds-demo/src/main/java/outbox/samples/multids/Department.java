package outbox.samples.multids;

import org.h2.jdbcx.JdbcConnectionPool;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.jdbc.JdbcOutbox;
import outbox.jdbc.JdbcTransactionManager.Transaction;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * A department with its own database. All parts of its outbox belong to that database: transactions, writer,
 * dispatcher and poller. A second department is a second instance. The two share nothing.
 */
final class Department implements AutoCloseable {

    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private final String name;
    private final JdbcConnectionPool database;
    private final JdbcOutbox outbox;
    private final BlockingQueue<EventEnvelope> delivered = new LinkedBlockingQueue<>();

    Department(String name, String eventType) {
        this.name = name;
        database = JdbcConnectionPool.create("jdbc:h2:mem:" + name, "", "");
        outbox = JdbcOutbox.on(database)
                .createTables()
                .listen(eventType, delivered::add)
                .start();
    }

    String name() {
        return name;
    }

    Transaction begin() {
        return outbox.begin();
    }

    OutboxWriter writer() {
        return outbox.writer();
    }

    /** Waits for the next event that the listener of this department receives, and describes it. */
    String nextDelivered() throws InterruptedException {
        EventEnvelope event = delivered.poll(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
        return event == null ? "nothing" : event.eventType() + " " + event.payloadJson();
    }

    /** Whether the listener received events that {@link #nextDelivered} has not returned. */
    boolean hasMoreDelivered() {
        return !delivered.isEmpty();
    }

    /** Returns the types of all events in the database of this department. */
    List<String> storedEvents() throws SQLException {
        try (Connection connection = database.getConnection();
                PreparedStatement select =
                        connection.prepareStatement("SELECT event_type FROM outbox_event ORDER BY created_at");
                ResultSet rows = select.executeQuery()) {
            List<String> types = new ArrayList<>();
            while (rows.next()) {
                types.add(rows.getString(1));
            }
            return types;
        }
    }

    /** Closes the outbox first, which finishes running deliveries. */
    @Override
    public void close() {
        outbox.close();
        database.dispose();
    }
}
