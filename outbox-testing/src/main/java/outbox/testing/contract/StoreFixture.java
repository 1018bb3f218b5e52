package outbox.testing.contract;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.Experimental;
import outbox.model.EventStatus;
import outbox.spi.LeasingEventStore;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import javax.sql.DataSource;

/**
 * A table with its store, and plain SQL to inspect the rows without the store. Every call uses its own transaction.
 *
 * @param zonedTimes whether the time columns have a time zone
 * @param rows reads the rows of a table with other columns; null for a table with our columns
 */
@Experimental
public record StoreFixture(
        DataSource dataSource,
        LeasingEventStore store,
        String table,
        boolean zonedTimes,
        @Nullable Rows rows) {

    public StoreFixture(DataSource dataSource, LeasingEventStore store, String table, boolean zonedTimes) {
        this(dataSource, store, table, zonedTimes, null);
    }

    /** Reads the rows of a table with other columns and presents them as if they had our columns. */
    public interface Rows {

        Row row(Connection connection, String eventId) throws SQLException;

        /** Counts rows. The condition uses the names of our columns. */
        long count(Connection connection, String condition) throws SQLException;

        Set<String> lockedBy(Connection connection, String token) throws SQLException;

        void makeDue(Connection connection, String eventId, Instant at) throws SQLException;

        /** Returns all rows by their ids, for comparison with a model. */
        default Map<String, PlacedRow> all(Connection connection) throws SQLException {
            throw new UnsupportedOperationException("These rows cannot be listed");
        }

        /** Deletes all rows. */
        default void clear(Connection connection) throws SQLException {
            throw new UnsupportedOperationException("These rows cannot be deleted");
        }
    }

    /** The columns of a row that the tests compare. */
    public record Row(
            EventStatus status,
            int attempts,
            @Nullable String lastError,
            @Nullable String lockedBy) {}

    /** A row with its due time. */
    public record PlacedRow(Row row, Instant availableAt) {}

    /** Work to do on a connection. */
    @FunctionalInterface
    public interface Work {
        void on(Connection connection) throws SQLException;
    }

    /** Work to do on a connection that returns a result. */
    @FunctionalInterface
    public interface Question<T> {
        T on(Connection connection) throws SQLException;
    }

    /** Opens a connection with auto-commit off. The caller must end its transaction and close it. */
    public Connection open() throws SQLException {
        Connection connection = dataSource.getConnection();
        connection.setAutoCommit(false);
        return connection;
    }

    public <T> T call(Question<T> question) {
        try (Connection connection = open()) {
            try {
                store.prepare(connection);
                T answer = question.on(connection);
                connection.commit();
                return answer;
            } catch (Throwable e) {
                connection.rollback();
                throw e;
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    public void inTransaction(Work work) {
        call(connection -> {
            work.on(connection);
            return true;
        });
    }

    public void rolledBack(Work work) {
        try (Connection connection = open()) {
            work.on(connection);
            connection.rollback();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Repeats a task that failed because of a conflict with another transaction, as the engine does. */
    public <T> T retrying(Callable<T> task) throws Exception {
        for (int tries = 1; ; tries++) {
            try {
                return task.call();
            } catch (RuntimeException e) {
                if (tries == 10 || !isConflict(e)) {
                    throw e;
                }
            }
        }
    }

    private static boolean isConflict(Throwable e) {
        for (Throwable cause = e; cause != null; cause = cause.getCause()) {
            if (cause instanceof SQLTransactionRollbackException
                    || cause instanceof SQLException sql
                            && sql.getSQLState() != null
                            && sql.getSQLState().startsWith("40")) {
                return true;
            }
        }
        return false;
    }

    public void insert(EventEnvelope event) {
        inTransaction(connection -> store.insertNew(connection, event));
    }

    public void insert(List<EventEnvelope> events) {
        inTransaction(connection -> store.insertAll(connection, events, null));
    }

    public Instant now() {
        return call(store::now);
    }

    public Row row(String eventId) {
        Rows others = rows;
        if (others != null) {
            return call(connection -> others.row(connection, eventId));
        }
        return call(connection -> {
            String sql = "SELECT status, attempts, last_error, locked_by FROM " + table + " WHERE event_id = ?";
            try (PreparedStatement select = connection.prepareStatement(sql)) {
                select.setString(1, eventId);
                try (ResultSet row = select.executeQuery()) {
                    if (!row.next()) {
                        throw new AssertionError("There is no event " + eventId);
                    }
                    return new Row(EventStatus.of(row.getInt(1)), row.getInt(2), row.getString(3), row.getString(4));
                }
            }
        });
    }

    /** Counts the rows that match an SQL condition. */
    public long count(String condition) {
        Rows others = rows;
        if (others != null) {
            return this.<Long>call(connection -> others.count(connection, condition));
        }
        return call(connection -> {
            try (PreparedStatement select =
                            connection.prepareStatement("SELECT COUNT(*) FROM " + table + " WHERE " + condition);
                    ResultSet row = select.executeQuery()) {
                row.next();
                return row.getLong(1);
            }
        });
    }

    public Set<String> lockedBy(String token) {
        Rows others = rows;
        if (others != null) {
            return call(connection -> others.lockedBy(connection, token));
        }
        return call(connection -> {
            try (PreparedStatement select =
                    connection.prepareStatement("SELECT event_id FROM " + table + " WHERE locked_by = ?")) {
                select.setString(1, token);
                List<String> ids = new ArrayList<>();
                try (ResultSet rows = select.executeQuery()) {
                    while (rows.next()) {
                        ids.add(rows.getString(1));
                    }
                }
                return new HashSet<>(ids);
            }
        });
    }

    /** Sets the due time of an event. */
    public void makeDue(String eventId, Instant at) {
        Rows others = rows;
        if (others != null) {
            inTransaction(connection -> others.makeDue(connection, eventId, at));
            return;
        }
        inTransaction(connection -> {
            try (PreparedStatement update =
                    connection.prepareStatement("UPDATE " + table + " SET available_at = ? WHERE event_id = ?")) {
                OffsetDateTime utc = at.atOffset(ZoneOffset.UTC);
                LocalDateTime local = utc.toLocalDateTime();
                update.setObject(1, zonedTimes ? utc : local);
                update.setString(2, eventId);
                update.executeUpdate();
            }
        });
    }

    /** Returns all rows by their ids. */
    Map<String, PlacedRow> all() {
        Rows others = rows;
        if (others != null) {
            return call(others::all);
        }
        return call(connection -> {
            Map<String, PlacedRow> all = new TreeMap<>();
            String sql = "SELECT event_id, status, attempts, last_error, locked_by, available_at FROM " + table;
            try (PreparedStatement select = connection.prepareStatement(sql);
                    ResultSet row = select.executeQuery()) {
                while (row.next()) {
                    Instant due = zonedTimes
                            ? row.getObject(6, OffsetDateTime.class).toInstant()
                            : row.getObject(6, LocalDateTime.class).toInstant(ZoneOffset.UTC);
                    all.put(
                            row.getString(1),
                            new PlacedRow(
                                    new Row(
                                            EventStatus.of(row.getInt(2)),
                                            row.getInt(3),
                                            row.getString(4),
                                            row.getString(5)),
                                    due));
                }
            }
            return all;
        });
    }

    /** Deletes all rows. */
    void clear() {
        Rows others = rows;
        inTransaction(connection -> {
            if (others != null) {
                others.clear(connection);
                return;
            }
            try (PreparedStatement delete = connection.prepareStatement("DELETE FROM " + table)) {
                delete.executeUpdate();
            }
        });
    }
}
