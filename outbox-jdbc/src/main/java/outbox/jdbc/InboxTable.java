package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.spi.SafeLogger;

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
    private static final int MAX_WAIT_SECONDS =
            30; // for another copy, on PostgreSQL; the other databases have limits of their own
    private static final int MYSQL_DUPLICATE = 1062;
    private static final AtomicLong SAVEPOINTS = new AtomicLong();

    private final TableName table;
    private final InboxLayout layout;
    private volatile @Nullable Known known; // read once; reading it twice does no harm

    /** What the table and its database are like. */
    private record Known(AbstractJdbcEventStore dialect, TableShape shape) {

        boolean isPostgres() {
            return dialect.name().equals("postgresql");
        }

        boolean isMySql() {
            return dialect.name().equals("mysql");
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
            found = new Known(JdbcEventStores.detect(connection), TableShape.readAny(connection, table));
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
     * Remembers the event; false if that was done before. Waits for the end of another transaction that does the same.
     *
     * <p>On PostgreSQL a duplicate must not be an error, which would end the transaction. On MySQL it must be one: INSERT IGNORE forgives more than duplicates, and with ON DUPLICATE KEY
     * UPDATE the drivers answer 1 either way.
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
            if (here.isPostgres() || !isDuplicate(e)) { // there it is of another key, and has ended the transaction
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

    private static boolean isDuplicate(SQLException error) {
        return SqlStates.of(error).equals("23505") || error.getErrorCode() == MYSQL_DUPLICATE;
    }

    /**
     * The table has a key besides the event's: who takes a collision of that one for an event that was handled loses the event. It has one row per event: whoever else is to handle it never
     * will, and nobody would know.
     */
    private void requireHandled(Known here, Connection connection, InboxEntry entry, @Nullable SQLException duplicate)
            throws SQLException {
        String sql = "SELECT consumer FROM " + table + " WHERE event_id = ?";
        String latest = here.isMySql() ? sql + " LOCK IN SHARE MODE" : sql; // a snapshot may be older than the row
        try (PreparedStatement select = connection.prepareStatement(latest)) {
            select.setString(1, entry.eventId());
            try (ResultSet row = select.executeQuery()) {
                if (!row.next()) {
                    throw new SQLException(
                            "the row is a duplicate, but not of the event. If the table has a column id, it must get a new value for each row by itself (AUTO_INCREMENT, IDENTITY)",
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
     * Makes it possible to tell for sure before the commit whether the transaction of the mark is still the same; the answer is for {@link #requireMark}. Once per transaction, since
     * the end of a savepoint is that of later ones too.
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
     * Refuses the commit of a transaction that has lost its mark, because the action swallowed a failure: PostgreSQL would roll back in silence; MySQL and H2 have rolled back at a
     * deadlock, and would commit what came after it. The row tells, unless another copy has written it meanwhile; a savepoint tells for sure.
     */
    void requireMark(Connection connection, InboxEntry entry, @Nullable String savepoint) {
        try {
            Known here = known(connection);
            if (here.isPostgres()) {
                here.dialect().checkCommit(connection);
            } else if (savepoint != null) {
                execute(connection, "RELEASE SAVEPOINT " + savepoint); // not there after a rollback
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
                        + " was rolled back by the database, or ended, while its action ran. Do not swallow the failure of a statement, nor use DDL in an action.",
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
     * Forgets some events that were handled before the given time, and answers how many. They are found without a lock and deleted by their key, in one order: a DELETE by time would
     * lock all that it reads on MySQL, and with it the end of the table, where new events go.
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
