package outbox.cli.doctor;

import org.jspecify.annotations.Nullable;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** Finds settings that may lose committed data in a crash. PostgreSQL, MySQL and MariaDB. */
final class DurabilityCheck extends Check {

    private static final String LOST = "a crash loses events whose transactions were committed";

    DurabilityCheck() {
        super("durability", false);
    }

    @Override
    List<Finding> look(Examination examination) throws SQLException {
        if (examination.isPostgres()) {
            return inPostgres(examination);
        }
        return examination.isMySql() ? inMySql(examination) : List.of();
    }

    private List<Finding> inPostgres(Examination examination) throws SQLException {
        List<Finding> findings = new ArrayList<>(unlogged(examination));
        findings.addAll(asynchronous(examination));
        for (String setting : List.of("fsync", "full_page_writes")) {
            if (isOff(examination, setting)) {
                findings.add(finding(
                        "The server runs with " + setting + " = off: "
                                + (setting.equals("fsync")
                                        ? LOST
                                        : "a crash of the" + " machine may leave torn pages behind")
                                + ", and may destroy the database.",
                        "Turn it on, as a superuser.",
                        "ALTER SYSTEM SET " + setting + " = on;",
                        "SELECT pg_reload_conf();"));
            }
        }
        return findings;
    }

    /** Binds: table. */
    private List<Finding> unlogged(Examination examination) throws SQLException {
        String sql = "SELECT c.oid::regclass::text FROM pg_class c WHERE c.relpersistence = 'u' AND c.oid IN "
                + Examination.TREE + " ORDER BY 1 LIMIT 5";
        List<String> tables = new ArrayList<>(List.of(examination.table()));
        tables.addAll(examination.sideTables());
        List<Finding> findings = new ArrayList<>();
        for (String table : tables) {
            for (List<@Nullable String> row : examination.queries().rows(sql, table)) {
                findings.add(finding(
                        "Table " + row.get(0)
                                + " is UNLOGGED: after a crash of the server it is empty, and a standby has"
                                + " nothing of it.",
                        "Make it an ordinary table. The statement rewrites it and locks it meanwhile.",
                        "ALTER TABLE " + row.get(0) + " SET LOGGED;"));
            }
        }
        return findings;
    }

    /** The setting may belong to the server, a database, a role, or a role in a database. */
    private List<Finding> asynchronous(Examination examination) throws SQLException {
        String sql = """
                SELECT r.rolname, d.datname
                  FROM pg_db_role_setting s
                  JOIN LATERAL unnest(s.setconfig) AS c (setting) ON TRUE
                  LEFT JOIN pg_roles r ON r.oid = s.setrole
                  LEFT JOIN pg_database d ON d.oid = s.setdatabase
                 WHERE (s.setdatabase = 0 OR d.datname = current_database())
                   AND split_part(c.setting, '=', 1) = 'synchronous_commit'
                   AND lower(split_part(c.setting, '=', 2)) IN ('off', 'false', 'no', '0')
                 ORDER BY 1, 2
                 LIMIT 5
                """;
        List<Finding> findings = new ArrayList<>();
        for (List<@Nullable String> row : examination.queries().rows(sql)) {
            String role = row.get(0) == null ? "" : examination.identifier(String.valueOf(row.get(0)));
            String database = row.get(1) == null ? "" : examination.identifier(String.valueOf(row.get(1)));
            String whose = role.isEmpty()
                    ? "DATABASE " + database
                    : "ROLE " + role + (database.isEmpty() ? "" : " IN DATABASE " + database);
            findings.add(asynchronous(whose, "ALTER " + whose + " RESET synchronous_commit;"));
        }
        if (findings.isEmpty() && isOff(examination, "synchronous_commit")) {
            findings.add(asynchronous(
                    "the server, or for the URL of this connection",
                    "ALTER SYSTEM SET synchronous_commit = on;",
                    "SELECT pg_reload_conf();"));
        }
        return findings;
    }

    private Finding asynchronous(String whose, String... commands) {
        return finding(
                "synchronous_commit is off for " + whose + ": " + LOST
                        + ", and brings back events that were delivered and marked.",
                "Turn it on for everybody who writes events. Other tables may have it off, by SET LOCAL in their"
                        + " transactions.",
                commands);
    }

    private static boolean isOff(Examination examination, String setting) throws SQLException {
        return "off"
                .equals(examination
                        .queries()
                        .rows("SELECT current_setting('" + setting + "')")
                        .get(0)
                        .get(0));
    }

    private List<Finding> inMySql(Examination examination) throws SQLException {
        List<Finding> findings = new ArrayList<>();
        List<String> tables = new ArrayList<>(List.of(examination.table()));
        tables.addAll(examination.sideTables());
        for (String table : tables) {
            String sql = "SELECT engine FROM information_schema.tables WHERE engine <> 'InnoDB' AND "
                    + examination.isOf(table, "table_schema", "table_name");
            for (List<@Nullable String> row : examination.queries().rows(sql)) {
                findings.add(finding(
                        "Table " + table + " has the engine " + row.get(0)
                                + ", which has no transactions: events stay when the transaction of the writer"
                                + " is rolled back, and a crash may lose them.",
                        "Make it a table of InnoDB. The statement rewrites it and locks it meanwhile.",
                        "ALTER TABLE " + table + " ENGINE = InnoDB;"));
            }
        }
        List<@Nullable String> row = examination
                .queries()
                .rows("SELECT @@GLOBAL.innodb_flush_log_at_trx_commit, @@GLOBAL.log_bin, @@GLOBAL.sync_binlog")
                .get(0);
        if (!"1".equals(row.get(0))) {
            findings.add(finding(
                    "The server runs with innodb_flush_log_at_trx_commit = " + row.get(0) + ": "
                            + ("2".equals(row.get(0)) ? "when the machine crashes, " : "when the server crashes, ")
                            + "events are lost whose transactions were committed in the last second or so.",
                    "Set it to 1, here and in the server's configuration.",
                    "SET GLOBAL innodb_flush_log_at_trx_commit = 1;"));
        }
        if ("1".equals(row.get(1)) && !"1".equals(row.get(2))) {
            findings.add(finding(
                    "The server runs with sync_binlog = " + row.get(2)
                            + ": when the machine crashes, replicas and the server may disagree about events.",
                    "Set it to 1, here and in the server's configuration.",
                    "SET GLOBAL sync_binlog = 1;"));
        }
        return findings;
    }
}
