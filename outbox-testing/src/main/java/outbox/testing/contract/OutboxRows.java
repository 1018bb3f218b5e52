package outbox.testing.contract;

import outbox.EventEnvelope;
import outbox.model.EventStatus;
import outbox.spi.EventStore;
import outbox.spi.LeasingEventStore;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;

/** Reads and changes the rows of an outbox table for a contract test. Each call uses its own transaction. */
final class OutboxRows {

    private final DataSource dataSource;
    private final EventStore store;
    private final String table;

    OutboxRows(DataSource dataSource, EventStore store, String table) {
        this.dataSource = dataSource;
        this.store = store;
        this.table = table;
    }

    @FunctionalInterface
    interface Work<T> {
        T on(Connection connection) throws SQLException;
    }

    /** Returns the time of the database clock. */
    Instant now() {
        return in(connection ->
                store.capability(LeasingEventStore.class).orElseThrow().now(connection));
    }

    /** Writes events of type {@code test} with ids {@code prefix-0000} and so on, and sets their status. */
    List<String> given(String prefix, int count, EventStatus status) {
        List<String> ids = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            ids.add("%s-%04d".formatted(prefix, i));
        }
        in(connection -> {
            for (String id : ids) {
                store.insertNew(connection, event(id).build());
            }
            return ids;
        });
        String terminal = status.isTerminal() ? ", done_at = available_at" : "";
        execute("UPDATE %s SET status = ?" + terminal + " WHERE event_id LIKE ?", status.code(), prefix + "-%");
        return ids;
    }

    static EventEnvelope.Builder event(String id) {
        return EventEnvelope.builder("test").eventId(id).payloadJson("{}");
    }

    void write(EventEnvelope event) {
        in(connection -> {
            store.insertNew(connection, event);
            return event;
        });
    }

    /** Runs an update. {@code %s} in the SQL stands for the table. */
    int execute(String sql, Object... values) {
        return in(connection -> {
            try (PreparedStatement update = connection.prepareStatement(sql.formatted(table))) {
                bind(connection, update, values);
                return update.executeUpdate();
            }
        });
    }

    /** Counts the rows that match the condition. */
    long count(String condition, Object... values) {
        return number("SELECT COUNT(*) FROM %s WHERE " + condition, values);
    }

    long count(EventStatus status) {
        return count("status = ?", status.code());
    }

    /** Returns the single number that the query selects. {@code %s} in the SQL stands for the table. */
    long number(String sql, Object... values) {
        return in(connection -> {
            try (PreparedStatement select = connection.prepareStatement(sql.formatted(table))) {
                bind(connection, select, values);
                try (ResultSet row = select.executeQuery()) {
                    row.next();
                    return row.getLong(1);
                }
            }
        });
    }

    <T> T in(Work<T> work) {
        try (Connection connection = dataSource.getConnection()) {
            boolean autoCommit = connection.getAutoCommit();
            connection.setAutoCommit(false);
            try {
                T result = work.on(connection);
                connection.commit();
                return result;
            } finally {
                connection.rollback();
                connection.setAutoCommit(autoCommit);
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void bind(Connection connection, PreparedStatement statement, Object... values) throws SQLException {
        boolean zoned = connection.getMetaData().getDatabaseProductName().equals("PostgreSQL");
        for (int i = 0; i < values.length; i++) {
            Object value = values[i];
            if (value instanceof Instant instant) {
                OffsetDateTime utc = instant.atOffset(ZoneOffset.UTC);
                value = zoned ? utc : utc.toLocalDateTime();
            }
            statement.setObject(i + 1, value);
        }
    }
}
