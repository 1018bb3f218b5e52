package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.admin.AdminAction;
import outbox.admin.AuditEntry;
import outbox.jdbc.internal.sql.TableColumns;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** The statements on audit records. An outbox without an audit table works until an audited change is requested. */
final class AuditStatements {

    static final String TABLE = "outbox_audit";

    private static final String COLUMNS =
            "request_id, outbox_table, action, actor, reason, selection, matched, affected, started_at, finished_at";

    private final JdbcTable store;
    private final SideTable table;

    AuditStatements(JdbcTable store) {
        this.store = store;
        this.table = new SideTable(
                store,
                TABLE,
                null,
                "no change by an operator can be recorded, and none is made to events",
                List.of(COLUMNS.split(", ")));
    }

    Optional<AuditEntry> read(Connection conn, String requestId) throws SQLException {
        // Binds: request_id.
        String sql = "SELECT %s FROM %s WHERE request_id = ?".formatted(COLUMNS, table.name());
        return table.first(conn, sql, binder -> binder.text(requestId), this::entry);
    }

    /** Returns the records of the table, with or without a schema in its name, newest first. */
    List<AuditEntry> list(Connection conn, int limit) throws SQLException {
        // Binds: name of the table, pattern of the name with a schema, limit.
        String sql = """
                SELECT %s
                  FROM %s
                 WHERE LOWER(outbox_table) = ? OR LOWER(outbox_table) LIKE ? ESCAPE '!'
                 ORDER BY started_at DESC, request_id DESC
                 LIMIT ?
                """.formatted(COLUMNS, table.name());
        return table.query(
                conn,
                sql,
                binder -> binder.text(table.owner())
                        .text("%." + FilterSql.escaped(table.owner()))
                        .number(limit),
                AuditStatements::entryOf);
    }

    boolean begin(Connection conn, AuditEntry entry) throws SQLException {
        return table.insert(
                conn,
                "request_id, outbox_table, action, actor, reason, selection, matched, affected, started_at",
                binder -> binder.text(entry.requestId())
                        .text(store.table().value())
                        .text(entry.action().name())
                        .text(entry.actor())
                        .text(entry.reason())
                        .text(entry.selection())
                        .number(entry.matched())
                        .number(entry.affected())
                        .time("started_at", entry.startedAt()));
    }

    int progress(Connection conn, String requestId, int affected, @Nullable Instant finishedAt) throws SQLException {
        // Binds: events to add, finished_at if it is given, request_id.
        String sql = """
                UPDATE %s
                   SET affected = affected + ?%s
                 WHERE request_id = ?
                """.formatted(table.name(), finishedAt == null ? "" : ", finished_at = ?");
        int count = table.update(conn, sql, binder -> {
            binder.number(affected);
            if (finishedAt != null) {
                binder.time("finished_at", finishedAt);
            }
            binder.text(requestId);
        });
        if (count == 0) {
            throw new EventStoreException(
                    "The audit record " + requestId + " is gone from table " + table.name()
                            + ", so nothing more is changed",
                    null);
        }
        return count;
    }

    private AuditEntry entry(ResultSet row, TableColumns columns) throws SQLException {
        String owner = row.getString("outbox_table");
        String requestId = row.getString("request_id");
        if (!owner.equalsIgnoreCase(store.table().value())) {
            throw new IllegalArgumentException("requestId " + requestId + " was used for events of table " + owner
                    + "; use a new one for those of " + store.table());
        }
        return entryOf(row, columns);
    }

    private static AuditEntry entryOf(ResultSet row, TableColumns columns) throws SQLException {
        Instant startedAt = columns.read(row, "started_at");
        return new AuditEntry(
                row.getString("request_id"),
                AdminAction.valueOf(row.getString("action")),
                row.getString("actor"),
                row.getString("reason"),
                row.getString("selection"),
                row.getLong("matched"),
                row.getLong("affected"),
                startedAt == null ? Instant.EPOCH : startedAt,
                columns.read(row, "finished_at"));
    }
}
