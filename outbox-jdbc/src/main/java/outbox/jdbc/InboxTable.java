package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.internal.text.SafeLogger;
import outbox.jdbc.internal.sql.Binder;
import outbox.jdbc.internal.sql.TableColumns;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/** The statements on the table of an inbox. */
final class InboxTable {

    private static final Logger LOG = SafeLogger.of(InboxTable.class);
    // Limits the wait for another copy on PostgreSQL. Other databases have their own limits.
    private static final int MAX_WAIT_SECONDS = 30;
    private static final AtomicLong SAVEPOINTS = new AtomicLong();

    private final TableName table;
    private final InboxLayout layout;
    private volatile @Nullable Known known; // Read once. Two threads may both read it, which does no harm.

    /** The dialect of the database and the columns of the table. */
    private record Known(Dialect dialect, TableColumns shape) {

        boolean isPostgres() {
            return dialect instanceof PostgresDialect;
        }

        boolean isMySql() {
            return dialect instanceof MySqlDialect;
        }
    }

    InboxTable(TableName table, InboxLayout layout) {
        this.table = table;
        this.layout = layout;
    }

    TableName name() {
        return table;
    }

    InboxLayout layout() {
        return layout;
    }

    private Known known(Connection connection) throws SQLException {
        Known found = known;
        if (found == null) {
            found = new Known(JdbcEventStores.dialect(connection), TableColumns.readAny(connection, table.value()));
            List<String> missing = found.shape().missing(layout.columns());
            if (!missing.isEmpty()) {
                throw new EventStoreException(
                        "Table " + table + " is not an inbox of layout " + layout + ": it has no column "
                                + String.join(", ", missing),
                        null);
            }
            known = found;
        }
        return found;
    }

    /**
     * Inserts the entry. Returns false if it exists. Waits until another transaction that inserts the same
     * entry ends.
     *
     * <p>On PostgreSQL a duplicate must not cause an error, because an error aborts the transaction. On MySQL it
     * must cause an error: INSERT IGNORE ignores more than duplicates, and with ON DUPLICATE KEY UPDATE the drivers
     * return 1 in both cases.
     */
    boolean insert(Connection connection, InboxEntry entry) throws SQLException {
        Known here = known(connection);
        SQLException duplicate = null;
        try (PreparedStatement insert =
                connection.prepareStatement(here.shape().text("insert", () -> insertSql(here)))) {
            Binder binder =
                    new Binder(insert, here.shape()).text(entry.consumer()).text(entry.eventId());
            if (layout.keepsType()) {
                binder.text(entry.eventType());
            }
            if (here.isPostgres()) {
                insert.setQueryTimeout(MAX_WAIT_SECONDS);
            }
            if (insert.executeUpdate() == 1) {
                return true;
            }
        } catch (SQLException e) {
            // On PostgreSQL the duplicate concerns another key, and the transaction is aborted.
            if (here.isPostgres() || !here.dialect().isDuplicateKey(e)) {
                throw e;
            }
            duplicate = e;
        }
        if (layout == InboxLayout.CONSUME_LOG) {
            requireHandled(here, connection, entry, duplicate);
        }
        return false;
    }

    /** Binds: consumer, event_id, and event_type if the layout keeps it. */
    private String insertSql(Known here) {
        String now = here.dialect().nowSql(here.shape().isZoned(layout.timeColumn()));
        String values = "?, ".repeat(layout.columns().size() - 1) + now;
        String sql = """
                INSERT INTO %s (%s)
                VALUES (%s)
                """.formatted(table, String.join(", ", layout.columns()), values);
        return here.isPostgres() ? sql + "ON CONFLICT (" + layout.key() + ") DO NOTHING" : sql;
    }

    /**
     * Checks that a duplicate means that this consumer handled the event. The table may have another unique key; a
     * collision there must not be mistaken for a handled event, because the event would be lost. The table has one
     * row per event: a second consumer would never handle the event, and nobody would notice.
     */
    private void requireHandled(Known here, Connection connection, InboxEntry entry, @Nullable SQLException duplicate)
            throws SQLException {
        String sql = "SELECT consumer FROM " + table + " WHERE event_id = ?";
        String latest = here.isMySql() ? sql + " LOCK IN SHARE MODE" : sql; // the snapshot may be older than the row
        try (PreparedStatement select = connection.prepareStatement(latest)) {
            select.setString(1, entry.eventId());
            try (ResultSet row = select.executeQuery()) {
                if (!row.next()) {
                    throw new SQLException(
                            "the row is a duplicate, but not of the event. If the table has a column id, it must "
                                    + "get a new value for each row by itself (AUTO_INCREMENT, IDENTITY)",
                            "23505",
                            duplicate);
                }
                if (!entry.consumer().equals(row.getString(1))) {
                    LOG.log(
                            Level.WARNING,
                            "Table {0} has one row per event: {1} is skipped, since consumer {2} handled it",
                            table,
                            entry,
                            row.getString(1));
                }
            }
        }
    }

    /**
     * Sets a savepoint that makes it possible to check before the commit whether the transaction of the mark is
     * still the same. Returns its name for {@link #requireMark}. Call it once per transaction, because releasing a
     * savepoint also releases the later ones.
     */
    @Nullable
    String watch(Connection connection) throws SQLException {
        if (!known(connection).isMySql()) {
            return null;
        }
        String savepoint = "outbox_inbox_" + SAVEPOINTS.incrementAndGet();
        execute(connection, "SAVEPOINT " + savepoint);
        return savepoint;
    }

    /**
     * Refuses the commit of a transaction that lost its mark because the action caught an exception. PostgreSQL
     * would roll back silently. MySQL and H2 roll back at a deadlock and would commit only the later statements. The
     * row shows whether the mark is still there, unless another copy has inserted it since. A savepoint is a
     * reliable check.
     */
    void requireMark(Connection connection, InboxEntry entry, @Nullable String savepoint) {
        try {
            Known here = known(connection);
            if (here.isPostgres()) {
                here.dialect().checkCommit(connection);
            } else if (savepoint != null) {
                // fails if the savepoint was lost in a rollback
                execute(connection, "RELEASE SAVEPOINT " + savepoint);
            } else if (!isThere(connection, entry)) {
                throw lost(entry, null);
            }
        } catch (SQLException e) {
            throw lost(entry, e);
        }
    }

    private static EventStoreException lost(InboxEntry entry, @Nullable SQLException cause) {
        return new EventStoreException(
                "The transaction of " + entry
                        + " was rolled back by the database, or ended, while its action ran. Do not swallow the "
                        + "failure of a statement, nor use DDL in an action.",
                cause);
    }

    private boolean isThere(Connection connection, InboxEntry entry) throws SQLException {
        String sql = "SELECT 1 FROM " + table + " WHERE consumer = ? AND event_id = ?";
        try (PreparedStatement select = connection.prepareStatement(sql)) {
            select.setString(1, entry.consumer());
            select.setString(2, entry.eventId());
            try (ResultSet row = select.executeQuery()) {
                return row.next();
            }
        }
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    Instant now(Connection connection) throws SQLException {
        return known(connection).dialect().now(connection);
    }

    /**
     * Deletes some events that were handled before the given time and returns their number. The rows are found
     * without a lock and deleted by key, in a fixed order. On MySQL, a DELETE by time would lock all rows that it
     * reads, including the end of the table, where new events are inserted.
     */
    int deleteBefore(Connection connection, Instant end, int limit) throws SQLException {
        Known here = known(connection);
        List<InboxEntry> old = new ArrayList<>();
        String find = "SELECT consumer, event_id FROM " + table + " WHERE " + layout.timeColumn() + " < ? LIMIT ?";
        try (PreparedStatement select = connection.prepareStatement(find)) {
            new Binder(select, here.shape()).time(layout.timeColumn(), end).number(limit);
            try (ResultSet rows = select.executeQuery()) {
                while (rows.next()) {
                    old.add(new InboxEntry(rows.getString(1), rows.getString(2), null));
                }
            }
        }
        if (old.isEmpty()) {
            return 0;
        }
        old.sort(Comparator.comparing(InboxEntry::eventId).thenComparing(InboxEntry::consumer));
        try (PreparedStatement delete =
                connection.prepareStatement("DELETE FROM " + table + " WHERE event_id = ? AND consumer = ?")) {
            for (InboxEntry entry : old) {
                new Binder(delete, here.shape()).text(entry.eventId()).text(entry.consumer());
                delete.addBatch();
            }
            delete.executeBatch();
        }
        return old.size();
    }
}
