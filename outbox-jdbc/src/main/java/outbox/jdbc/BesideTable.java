package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.jdbc.JdbcTable.Binds;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** A table beside that of the events, which may be missing: then it is refused with what to create, each time anew. */
final class BesideTable {

    /** Makes a value of the current row. */
    interface Mapper<T> {
        T map(ResultSet row, TableShape columns) throws SQLException;
    }

    private final AbstractJdbcEventStore store;
    private final TableName table;
    private final List<String> columns;
    private final Capability capability;
    private volatile @Nullable TableShape shape; // read when the table is there; reading it twice does no harm

    BesideTable(AbstractJdbcEventStore store, TableName table, List<String> columns, Capability capability) {
        this.store = store;
        this.table = table;
        this.columns = columns;
        this.capability = capability;
    }

    TableName name() {
        return table;
    }

    /** Asks the database without an error that would end up in its log, and only until there is one. */
    boolean exists(Connection conn) throws SQLException {
        return shape != null || store.hasTable(conn, table);
    }

    int update(Connection conn, String sql, Binds binds) throws SQLException {
        TableShape known = shape(conn);
        try (PreparedStatement update = conn.prepareStatement(sql)) {
            binds.to(new Binder(update, known));
            return update.executeUpdate();
        }
    }

    <T> List<T> query(Connection conn, String sql, Binds binds, Mapper<T> mapper) throws SQLException {
        TableShape known = shape(conn);
        List<T> found = new ArrayList<>();
        try (PreparedStatement select = conn.prepareStatement(sql)) {
            binds.to(new Binder(select, known));
            try (ResultSet rows = select.executeQuery()) {
                while (rows.next()) {
                    found.add(mapper.map(rows, known));
                }
            }
        } catch (SQLException e) {
            if (SqlStates.isTableMissing(e)) {
                shape = null; // dropped meanwhile: look again
            }
            throw e;
        }
        return found;
    }

    <T> Optional<T> first(Connection conn, String sql, Binds binds, Mapper<T> mapper) throws SQLException {
        return query(conn, sql, binds, mapper).stream().findFirst();
    }

    private TableShape shape(Connection conn) throws SQLException {
        TableShape known = shape;
        if (known == null) {
            if (!store.hasTable(conn, table)) {
                throw refusal("does not exist");
            }
            known = TableShape.readAny(conn, table);
            List<String> missing = known.missing(columns);
            if (!missing.isEmpty()) {
                throw refusal("has no column " + String.join(", ", missing));
            }
            shape = known;
        }
        return known;
    }

    private EventStoreException refusal(String why) {
        return new EventStoreException(
                "Nothing can be reconciled into table " + store.table() + ", because table " + table + " " + why
                        + ". Create it by OutboxSchema.create with Capability." + capability.name() + ", or as in "
                        + capability.resource(store.name()) + " of outbox-jdbc.",
                null);
    }
}
