package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.admin.Pause;
import outbox.admin.PauseScope;
import outbox.jdbc.JdbcTable.Binds;
import outbox.spi.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** What is paused, in a table of its own that all outbox tables of a schema share. An outbox without one works as long as nobody wants to pause anything. */
final class PauseStatements {

    private static final List<String> COLUMNS =
            List.of("outbox_table", "scope", "name", "paused_at", "paused_by", "reason");

    private static final int MAX_TOLD = 100;
    private static final Logger LOG = SafeLogger.of(PauseStatements.class);

    private final AbstractJdbcEventStore store;
    private final TableName table;
    private final Set<String> told = ConcurrentHashMap.newKeySet(); // rows that cannot be read
    private volatile @Nullable TableShape shape; // read when the table is there; reading it twice does no harm

    PauseStatements(AbstractJdbcEventStore store) {
        this.store = store;
        this.table = table(store);
    }

    /** The table of pauses beside the table of the store. */
    static TableName table(AbstractJdbcEventStore store) {
        return store.table().sibling("outbox_pause");
    }

    /** Asks the database for the table without an error that would end up in its log, and only until there is one. */
    boolean exist(Connection conn) {
        return shape != null || store.run("look for table " + table + " beside", () -> store.hasTable(conn, table));
    }

    List<Pause> read(Connection conn) {
        // Binds: outbox_table.
        String sql = """
                SELECT scope, name, paused_at, paused_by, reason
                  FROM %s
                 WHERE outbox_table = ?
                 ORDER BY paused_at, scope, name
                """.formatted(table);
        return store.run("read what is paused of events", () -> {
            TableShape columns = shape(conn);
            List<Pause> pauses = new ArrayList<>();
            try (PreparedStatement select = conn.prepareStatement(sql)) {
                new Binder(select, columns).text(owner());
                try (ResultSet rows = select.executeQuery()) {
                    while (rows.next()) {
                        addTo(pauses, rows, columns);
                    }
                }
            } catch (SQLException e) {
                if (SqlStates.isTableMissing(e)) {
                    shape = null; // dropped meanwhile: look again
                }
                throw e;
            }
            return pauses;
        });
    }

    /** A row may be written by hand. One that cannot be read is passed over, lest it takes the others with it, and told once. */
    private void addTo(List<Pause> pauses, ResultSet row, TableShape columns) throws SQLException {
        String scope = row.getString("scope");
        String name = row.getString("name");
        Instant since = columns.read(row, "paused_at");
        try {
            pauses.add(new Pause(
                    PauseScope.valueOf(scope.toUpperCase(Locale.ROOT)),
                    name,
                    since == null ? Instant.EPOCH : since,
                    row.getString("paused_by"),
                    row.getString("reason")));
        } catch (IllegalArgumentException e) {
            String unreadable = "scope '" + scope + "' and name '" + name + "'";
            if (told.size() < MAX_TOLD && told.add(unreadable)) {
                LOG.log(
                        Level.ERROR,
                        "The row of table " + table + " with " + unreadable
                                + " pauses nothing: its scope must be TYPE or LISTENER with a name, or OUTBOX with an empty one",
                        e);
            }
        }
    }

    boolean pause(Connection conn, Pause pause) {
        // Binds: the columns in their order.
        String sql = """
                INSERT INTO %s (outbox_table, scope, name, paused_at, paused_by, reason)
                VALUES (?, ?, ?, ?, ?, ?)
                %s
                """.formatted(table, store.passOverDuplicate());
        return store.run("pause events", () -> {
            try {
                return update(
                                conn,
                                sql,
                                binder -> binder.text(owner())
                                        .text(pause.scope().name())
                                        .text(pause.name())
                                        .time("paused_at", pause.since())
                                        .text(pause.by())
                                        .text(pause.reason()))
                        > 0;
            } catch (SQLException e) {
                if (store.isDuplicateKey(e)) {
                    return false;
                }
                throw e;
            }
        });
    }

    boolean resume(Connection conn, PauseScope scope, String name) {
        // Binds: outbox_table, scope, name.
        String sql = "DELETE FROM %s WHERE outbox_table = ? AND UPPER(scope) = ? AND name = ?".formatted(table);
        return store.run(
                "resume events",
                () -> update(
                                conn,
                                sql,
                                binder ->
                                        binder.text(owner()).text(scope.name()).text(name))
                        > 0);
    }

    /** In one case everywhere, as databases do not tell names of tables apart by theirs. */
    private String owner() {
        return store.table().simpleName().toLowerCase(Locale.ROOT);
    }

    private int update(Connection conn, String sql, Binds binds) throws SQLException {
        try (PreparedStatement update = conn.prepareStatement(sql)) {
            binds.to(new Binder(update, shape(conn)));
            return update.executeUpdate();
        }
    }

    private TableShape shape(Connection conn) throws SQLException {
        TableShape known = shape;
        if (known == null) {
            if (!store.hasTable(conn, table)) {
                throw refusal("does not exist");
            }
            known = TableShape.readAny(conn, table);
            List<String> missing = known.missing(COLUMNS);
            if (!missing.isEmpty()) {
                throw refusal("has no column " + String.join(", ", missing));
            }
            shape = known;
        }
        return known;
    }

    private EventStoreException refusal(String why) {
        return new EventStoreException(
                "Events of table " + store.table() + " cannot be paused, because table " + table + " " + why
                        + ". Create it by OutboxSchema.create with Capability.PAUSES, or as in "
                        + Capability.PAUSES.resource(store.name()) + " of outbox-jdbc.",
                null);
    }
}
