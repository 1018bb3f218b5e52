package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.jdbc.internal.sql.Binder;
import outbox.jdbc.internal.sql.Binds;
import outbox.jdbc.internal.sql.RowMapper;
import outbox.jdbc.internal.sql.SqlStates;
import outbox.jdbc.internal.sql.TableColumns;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * A table next to the table of events, which may be missing. An operation that needs a missing table is refused, and
 * the message names the migration that creates it. All outbox tables of a schema share a side table. Each row names
 * its outbox table, see {@link #owner}.
 */
final class SideTable {

    /** Maps the current row to a value. */
    interface Mapper<T> {
        T map(ResultSet row, TableColumns columns) throws SQLException;
    }

    private final JdbcTable events;
    private final TableName table;
    private final @Nullable Capability capability;
    private final String consequence;
    private final List<String> columns;
    // Read when the table exists. Two threads may both read it, which does no harm.
    private volatile @Nullable TableColumns shape;

    /**
     * @param capability the capability whose migration creates the table; null if the migration of the event table
     *     creates it
     * @param consequence what is not possible without the table, as a clause for the message
     */
    SideTable(
            JdbcTable events, String name, @Nullable Capability capability, String consequence, List<String> columns) {
        this.events = events;
        this.table = events.table().sibling(name);
        this.capability = capability;
        this.consequence = consequence;
        this.columns = columns;
    }

    TableName name() {
        return table;
    }

    /**
     * Returns the name of the event table in the rows, in lower case, because table names are not case-sensitive.
     */
    String owner() {
        return events.table().simpleName().toLowerCase(Locale.ROOT);
    }

    /**
     * Whether the table exists. The check causes no error in the database log, and is skipped once the table
     * was found.
     */
    boolean exists(Connection conn) throws SQLException {
        return shape != null || events.dialect().hasTable(conn, table);
    }

    /** Returns the columns of the table, or null if the table or one of the required columns is missing. */
    @Nullable
    TableColumns look(Connection conn) throws SQLException {
        if (shape == null && events.dialect().hasTable(conn, table)) {
            TableColumns found = TableColumns.readAny(conn, table.value());
            shape = found.missing(columns).isEmpty() ? found : null;
        }
        return shape;
    }

    /** Makes the next use read the columns again, because the table may have been changed. */
    void forget() {
        shape = null;
    }

    /** @throws EventStoreException if the table cannot be used */
    TableColumns shape(Connection conn) throws SQLException {
        TableColumns known = look(conn);
        if (known == null) {
            boolean isThere = events.dialect().hasTable(conn, table);
            throw refusal(
                    isThere
                            ? "has no column "
                                    + String.join(
                                            ", ",
                                            TableColumns.readAny(conn, table.value())
                                                    .missing(columns))
                            : "does not exist");
        }
        return known;
    }

    private EventStoreException refusal(String why) {
        String name = events.dialect().schemaName();
        return new EventStoreException(
                "Table " + table + " " + why + ", so " + consequence + " of table " + events.table()
                        + ". Create it "
                        + (capability == null
                                ? ""
                                : "by OutboxSchema.create with Capability." + capability.name() + ", or ")
                        + "as in "
                        + (capability == null ? OutboxSchema.TABLE.formatted(name) : capability.resource(name))
                        + " of outbox-jdbc.",
                null);
    }

    int update(Connection conn, String sql, Binds binds) throws SQLException {
        TableColumns known = shape(conn);
        try (PreparedStatement update = conn.prepareStatement(sql)) {
            binds.to(new Binder(update, known));
            return update.executeUpdate();
        }
    }

    /** Inserts a row. Returns false if a row with its key exists. The transaction remains usable in both cases. */
    boolean insert(Connection conn, String columnNames, Binds binds) throws SQLException {
        String sql = "INSERT INTO %s (%s) VALUES (?%s) %s"
                .formatted(
                        table,
                        columnNames,
                        ", ?".repeat((int)
                                columnNames.chars().filter(c -> c == ',').count()),
                        events.dialect().passOverDuplicate());
        try {
            return update(conn, sql, binds) > 0;
        } catch (SQLException e) {
            if (events.dialect().isDuplicateKey(e)) {
                return false;
            }
            throw e;
        }
    }

    <T> List<T> query(Connection conn, String sql, Binds binds, Mapper<T> mapper) throws SQLException {
        TableColumns known = shape(conn);
        try (PreparedStatement select = conn.prepareStatement(sql)) {
            binds.to(new Binder(select, known));
            try (ResultSet rows = select.executeQuery()) {
                return RowMapper.all(rows, row -> mapper.map(row, known));
            }
        } catch (SQLException e) {
            if (SqlStates.isTableMissing(e)) {
                forget(); // the table was dropped
            }
            throw e;
        }
    }

    <T> Optional<T> first(Connection conn, String sql, Binds binds, Mapper<T> mapper) throws SQLException {
        return query(conn, sql, binds, mapper).stream().findFirst();
    }
}
