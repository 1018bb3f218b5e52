package outbox.jdbc;

import outbox.admin.Pause;
import outbox.internal.text.SafeLogger;
import outbox.jdbc.internal.sql.Binds;
import outbox.jdbc.internal.sql.TableColumns;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The statements on pauses. An outbox without the table of pauses works until a pause is requested. */
final class PauseStatements {

    static final String TABLE = "outbox_pause";

    private static final int MAX_TOLD = 100;
    private static final Logger LOG = SafeLogger.of(PauseStatements.class);
    private static final String COLUMNS = "outbox_table, scope, name, paused_at, paused_by, reason";

    private final SideTable table;
    private final Set<String> told = ConcurrentHashMap.newKeySet(); // rows that cannot be parsed and were logged

    PauseStatements(JdbcTable store) {
        this.table = new SideTable(
                store, TABLE, Capability.PAUSES, "nothing can pause events", List.of(COLUMNS.split(", ")));
    }

    boolean exist(Connection conn) throws SQLException {
        return table.exists(conn);
    }

    List<Pause> read(Connection conn) throws SQLException {
        // Binds: outbox_table.
        String sql = """
                SELECT scope, name, paused_at, paused_by, reason
                  FROM %s
                 WHERE outbox_table = ?
                 ORDER BY paused_at, scope, name
                """.formatted(table.name());
        List<Pause> pauses = new ArrayList<>();
        table.query(conn, sql, binder -> binder.text(table.owner()), (row, columns) -> addTo(pauses, row, columns));
        return pauses;
    }

    /**
     * Adds the pause of a row, which may have been written by hand. A row that cannot be parsed is skipped and
     * logged once, so that the other pauses still apply.
     */
    private boolean addTo(List<Pause> pauses, ResultSet row, TableColumns columns) throws SQLException {
        String scope = row.getString("scope");
        String name = row.getString("name");
        Instant since = columns.read(row, "paused_at");
        try {
            pauses.add(new Pause(
                    Pause.Scope.valueOf(scope.toUpperCase(Locale.ROOT)),
                    name,
                    since == null ? Instant.EPOCH : since,
                    row.getString("paused_by"),
                    row.getString("reason")));
        } catch (IllegalArgumentException e) {
            String unreadable = "scope '" + scope + "' and name '" + name + "'";
            if (told.size() < MAX_TOLD && told.add(unreadable)) {
                LOG.log(
                        Level.ERROR,
                        "The row of table " + table.name() + " with " + unreadable
                                + " pauses nothing: its scope must be TYPE or LISTENER with a name, or OUTBOX "
                                + "with an empty one",
                        e);
            }
        }
        return true;
    }

    boolean pause(Connection conn, Pause pause) throws SQLException {
        return table.insert(
                conn,
                COLUMNS,
                binder -> binder.text(table.owner())
                        .text(pause.scope().name())
                        .text(pause.name())
                        .time("paused_at", pause.since())
                        .text(pause.by())
                        .text(pause.reason()));
    }

    boolean resume(Connection conn, Pause.Scope scope, String name) throws SQLException {
        // Binds: outbox_table, scope, name.
        String sql = "DELETE FROM %s WHERE outbox_table = ? AND UPPER(scope) = ? AND name = ?".formatted(table.name());
        Binds binds = binder -> binder.text(table.owner()).text(scope.name()).text(name);
        return table.update(conn, sql, binds) > 0;
    }
}
