package outbox.cli.doctor;

import org.jspecify.annotations.Nullable;

import java.sql.SQLException;
import java.util.List;
import java.util.Optional;

/** Finds tables with many dead rows, which every claim must read past. PostgreSQL only. */
final class BloatCheck extends Check {

    private static final long MANY = 10_000;

    BloatCheck() {
        super("bloat", false);
    }

    @Override
    List<Finding> look(Examination examination) throws SQLException {
        return examination.isPostgres()
                ? look(examination, examination.table()).stream().toList()
                : List.of();
    }

    private Finding neverVacuumed(String table, boolean isOff) {
        return finding(
                "Autovacuum is off for " + (isOff ? "table " + table : "the whole server")
                        + ": each delivery leaves two dead rows, which stay, and claims read past them.",
                "Turn it on.",
                isOff
                        ? List.of("ALTER TABLE " + table + " RESET (autovacuum_enabled);")
                        : List.of("ALTER SYSTEM SET autovacuum = on;", "SELECT pg_reload_conf();"));
    }

    private Optional<Finding> look(Examination examination, String table) throws SQLException {
        // Binds: table.
        String sql = """
                SELECT s.n_dead_tup, s.n_live_tup, COALESCE(GREATEST(s.last_vacuum, s.last_autovacuum)::text, 'never'),
                       array_to_string(c.reloptions, ','), current_setting('autovacuum')
                  FROM pg_stat_all_tables s
                  JOIN pg_class c ON c.oid = s.relid
                 WHERE s.relid = to_regclass(?)
                """;
        List<List<@Nullable String>> rows = examination.queries().rows(sql, table);
        if (rows.isEmpty()) {
            return Optional.empty();
        }
        List<@Nullable String> row = rows.get(0);
        long dead = Long.parseLong(String.valueOf(row.get(0)));
        long live = Long.parseLong(String.valueOf(row.get(1)));
        boolean isOff = String.valueOf(row.get(3)).matches(".*autovacuum_enabled=(false|off|no|0)(,.*)?");
        boolean isOffForAll = "off".equals(row.get(4));
        if (dead < MANY || dead < live / 2) {
            return isOff || isOffForAll ? Optional.of(neverVacuumed(table, isOff)) : Optional.empty();
        }
        return Optional.of(finding(
                "Table " + table + " has " + dead + " dead rows next to " + live
                        + " live ones; it was last vacuumed: " + row.get(2)
                        + (isOff ? ", and autovacuum is off for it." : "."),
                "Vacuum it, see what else the horizon check says, and let autovacuum come often.",
                "VACUUM " + table + ";",
                "ALTER TABLE " + table
                        + (isOff ? " RESET (autovacuum_enabled);" : " SET (autovacuum_vacuum_scale_factor = 0.01);")));
    }
}
