package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.admin.AdminAction;
import outbox.admin.AuditEntry;
import outbox.jdbc.JdbcTable.Binds;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** The audit records, in a table of their own that all outbox tables of a schema share. It looks at that table once, when it is first needed; an outbox without one works as long as nobody asks for an audited change. */
final class AuditStatements {

    private static final List<String> COLUMNS = List.of(
            "request_id",
            "outbox_table",
            "action",
            "actor",
            "reason",
            "selection",
            "matched",
            "affected",
            "started_at",
            "finished_at");

    private final AbstractJdbcEventStore store;
    private final TableName table;
    private volatile @Nullable TableShape shape; // read once; reading it twice does no harm

    AuditStatements(AbstractJdbcEventStore store) {
        this.store = store;
        this.table = table(store);
    }

    /** The audit table beside the table of the store. */
    static TableName table(AbstractJdbcEventStore store) {
        return store.table().sibling("outbox_audit");
    }

    Optional<AuditEntry> read(Connection conn, String requestId) {
        // Binds: request_id.
        String sql = """
                SELECT request_id, outbox_table, action, actor, reason, selection, matched, affected, started_at, finished_at
                  FROM %s
                 WHERE request_id = ?
                """.formatted(table);
        return store.run("read audit record " + requestId + " of events", () -> {
            TableShape columns = shape(conn);
            try (PreparedStatement select = conn.prepareStatement(sql)) {
                new Binder(select, columns).text(requestId);
                try (ResultSet row = select.executeQuery()) {
                    return row.next() ? Optional.of(entry(row, columns)) : Optional.empty();
                }
            }
        });
    }

    /** Those of the table, however its schema was spelled; the newest first. */
    List<AuditEntry> list(Connection conn, int limit) {
        // Binds: name of the table, pattern of the name with a schema, limit.
        String sql = """
                SELECT request_id, outbox_table, action, actor, reason, selection, matched, affected, started_at, finished_at
                  FROM %s
                 WHERE LOWER(outbox_table) = ? OR LOWER(outbox_table) LIKE ? ESCAPE '!'
                 ORDER BY started_at DESC, request_id DESC
                 LIMIT ?
                """.formatted(table);
        String name = store.table().simpleName().toLowerCase(Locale.ROOT);
        return store.run("read audit records of events", () -> {
            TableShape columns = shape(conn);
            List<AuditEntry> entries = new ArrayList<>();
            try (PreparedStatement select = conn.prepareStatement(sql)) {
                new Binder(select, columns)
                        .text(name)
                        .text("%." + name.replaceAll("([!%_])", "!$1"))
                        .number(limit);
                try (ResultSet row = select.executeQuery()) {
                    while (row.next()) {
                        entries.add(entryOf(row, columns));
                    }
                }
            }
            return entries;
        });
    }

    boolean begin(Connection conn, AuditEntry entry) {
        // Binds: the columns in their order.
        String sql = """
                INSERT INTO %s (request_id, outbox_table, action, actor, reason, selection, matched, affected, started_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                %s
                """.formatted(table, store.passOverDuplicate());
        return store.run("write audit record " + entry.requestId() + " of events", () -> {
            try {
                return update(
                                conn,
                                sql,
                                binder -> binder.text(entry.requestId())
                                        .text(store.table().value())
                                        .text(entry.action().name())
                                        .text(entry.actor())
                                        .text(entry.reason())
                                        .text(entry.selection())
                                        .number(entry.matched())
                                        .number(entry.affected())
                                        .time("started_at", entry.startedAt()))
                        > 0;
            } catch (SQLException e) {
                if (store.isDuplicateKey(e)) {
                    return false;
                }
                throw e;
            }
        });
    }

    void progress(Connection conn, String requestId, int affected, @Nullable Instant finishedAt) {
        // Binds: events to add, finished_at if it is given, request_id.
        String sql = """
                UPDATE %s
                   SET affected = affected + ?%s
                 WHERE request_id = ?
                """.formatted(table, finishedAt == null ? "" : ", finished_at = ?");
        int count = store.run(
                "write audit record " + requestId + " of events",
                () -> update(conn, sql, binder -> {
                    binder.number(affected);
                    if (finishedAt != null) {
                        binder.time("finished_at", finishedAt);
                    }
                    binder.text(requestId);
                }));
        if (count == 0) {
            throw new EventStoreException(
                    "The audit record " + requestId + " is gone from table " + table + ", so nothing more is changed",
                    null);
        }
    }

    private int update(Connection conn, String sql, Binds binds) throws SQLException {
        try (PreparedStatement update = conn.prepareStatement(sql)) {
            binds.to(new Binder(update, shape(conn)));
            return update.executeUpdate();
        }
    }

    /** Finds the table, or refuses: what cannot be recorded must not be done. */
    private TableShape shape(Connection conn) throws SQLException {
        TableShape known = shape;
        if (known == null) {
            try {
                known = TableShape.readAny(conn, table);
            } catch (SQLException e) {
                if (SqlStates.isTableMissing(e)) {
                    throw refusal("does not exist", e);
                }
                throw e;
            }
            List<String> missing = known.missing(COLUMNS);
            if (!missing.isEmpty()) {
                throw refusal("has no column " + String.join(", ", missing), null);
            }
            shape = known;
        }
        return known;
    }

    private EventStoreException refusal(String why, @Nullable SQLException cause) {
        return new EventStoreException(
                "Events of table " + store.table()
                        + " cannot be replayed, discarded or skipped, because every such change is recorded and table "
                        + table + " " + why
                        + ". Create it as in META-INF/outbox/schema/" + store.name()
                        + "/V1__outbox_event.sql of outbox-jdbc.",
                cause);
    }

    private AuditEntry entry(ResultSet row, TableShape columns) throws SQLException {
        String owner = row.getString("outbox_table");
        String requestId = row.getString("request_id");
        if (!owner.equalsIgnoreCase(store.table().value())) {
            throw new IllegalArgumentException("requestId " + requestId + " was used for events of table " + owner
                    + "; use a new one for those of " + store.table());
        }
        return entryOf(row, columns);
    }

    private static AuditEntry entryOf(ResultSet row, TableShape columns) throws SQLException {
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
