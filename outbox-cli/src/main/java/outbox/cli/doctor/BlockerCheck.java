package outbox.cli.doctor;

import org.jspecify.annotations.Nullable;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/**
 * Finds sessions that make others wait for the table, or that lock the whole table. PostgreSQL, MySQL and MariaDB.
 */
final class BlockerCheck extends Check {

    private static final int SECONDS = 3; // shorter waits are normal
    private static final int SHOWN = 60;

    private static final String MARIADB_WAITS = """
            SELECT w.blocking_trx_id AS blocking, w.requesting_trx_id AS waiting
              FROM information_schema.innodb_lock_waits w
              JOIN information_schema.innodb_locks l ON l.lock_id = w.requested_lock_id
             WHERE REPLACE(l.lock_table, '`', '') = CONCAT(%1$s, '.', '%2$s')
            """;

    /** Compares schema and table name as one text: MySQL 8.0.12 finds no rows if they are compared separately. */
    private static final String MYSQL_WAITS = """
            SELECT w.blocking_engine_transaction_id AS blocking, w.requesting_engine_transaction_id AS waiting
              FROM performance_schema.data_lock_waits w
              JOIN performance_schema.data_locks l ON l.engine_lock_id = w.requesting_engine_lock_id
             WHERE CONCAT(l.object_schema, '.', l.object_name) = CONCAT(%1$s, '.', '%2$s')
            """;

    BlockerCheck() {
        super("blocker", false);
    }

    @Override
    List<Finding> look(Examination examination) throws SQLException {
        if (examination.isPostgres()) {
            return inPostgres(examination);
        }
        return examination.isMySql() ? inMySql(examination) : List.of();
    }

    /**
     * A session that waits for a row waits for a transaction, and already holds a lock on the table. Binds: table.
     */
    private List<Finding> inPostgres(Examination examination) throws SQLException {
        boolean hasWaitStart = examination.connection().getMetaData().getDatabaseMajorVersion() >= 14;
        String sql = """
                WITH locks AS (
                    SELECT pid, granted, mode, locktype, relation, %3$s AS wait_start
                      FROM pg_locks
                     WHERE pid <> pg_backend_pid()
                       AND (database IS NULL
                            OR database = (SELECT oid FROM pg_database WHERE datname = current_database()))
                ), ours AS (
                    SELECT pid, granted, mode, locktype
                      FROM locks
                     WHERE locktype IN ('relation', 'tuple')
                       AND relation IN %1$s
                ), waiting AS (
                    SELECT DISTINCT l.pid
                      FROM locks l
                      JOIN pg_stat_activity a ON a.pid = l.pid
                     WHERE NOT l.granted
                       AND COALESCE(l.wait_start, a.query_start) < clock_timestamp() - INTERVAL '%2$d seconds'
                       AND l.pid IN (SELECT pid FROM ours)
                ), blocking AS (
                    SELECT b.pid, w.pid AS waiter
                      FROM waiting w, LATERAL unnest(pg_blocking_pids(w.pid)) AS b (pid)
                    UNION ALL
                    SELECT o.pid, NULL
                      FROM ours o
                      JOIN pg_stat_activity a ON a.pid = o.pid
                     WHERE o.granted
                       AND o.locktype = 'relation'
                       AND o.mode IN ('AccessExclusiveLock', 'ExclusiveLock', 'ShareRowExclusiveLock', 'ShareLock')
                       AND a.backend_type <> 'autovacuum worker'
                       AND a.xact_start < clock_timestamp() - INTERVAL '%2$d seconds'
                )
                SELECT b.pid, COUNT(DISTINCT b.waiter), COALESCE(a.usename, '?'), COALESCE(a.application_name, ''),
                       COALESCE(a.state, '?'),
                       COALESCE(extract(epoch FROM clock_timestamp() - a.xact_start)::bigint, 0),
                       COALESCE(left(a.query, 1000), '')
                  FROM blocking b
                  LEFT JOIN pg_stat_activity a ON a.pid = b.pid
                 GROUP BY b.pid, a.usename, a.application_name, a.state, a.xact_start, a.query
                 ORDER BY a.xact_start NULLS FIRST
                 LIMIT 5
                """.formatted(Examination.TREE, SECONDS, hasWaitStart ? "waitstart" : "NULL::timestamptz");
        List<Finding> findings = new ArrayList<>();
        for (List<@Nullable String> row : examination.queries().rows(sql, examination.table())) {
            findings.add(ofPostgres(examination, row));
        }
        return findings;
    }

    private Finding ofPostgres(Examination examination, List<@Nullable String> row) {
        String blocked = "0".equals(row.get(1))
                ? "has a lock on the whole table " + examination.table() + ": others wait for it."
                : "keeps " + row.get(1) + " sessions waiting for table " + examination.table() + ".";
        if ("0".equals(row.get(0))) {
            return finding(
                    "A prepared transaction " + blocked,
                    "Finish it by COMMIT PREPARED or ROLLBACK PREPARED; the horizon check names it when it is old.",
                    "SELECT gid, owner, prepared FROM pg_prepared_xacts WHERE database = current_database();");
        }
        String query = statement(String.valueOf(row.get(6)));
        return finding(
                "Session " + row.get(0) + " of user " + row.get(2) + " ("
                        + Quoted.shown(String.valueOf(row.get(3)), SHOWN)
                        + ", " + row.get(4) + ", in a transaction for " + row.get(5) + " s) " + blocked
                        + (query.isEmpty() ? "" : " Its last statement: " + query),
                "Let it commit or roll back; if it is forgotten, end it.",
                "SELECT pg_terminate_backend(" + row.get(0) + ");");
    }

    /** Needs the privilege PROCESS. MySQL lists lock waits in performance_schema, MariaDB in information_schema. */
    private List<Finding> inMySql(Examination examination) throws SQLException {
        boolean isMariaDb = ReadLimits.isMariaDb(examination.connection());
        if (!isMariaDb && examination.queries().number("SELECT @@GLOBAL.performance_schema") == 0) {
            examination.notes().add("Sessions that others wait for were not looked for: performance_schema is off.");
            return List.of();
        }
        String waits = isMariaDb ? MARIADB_WAITS : MYSQL_WAITS;
        String table = examination.table();
        int dot = table.indexOf('.');
        String sql = """
                SELECT b.trx_mysql_thread_id, COUNT(DISTINCT v.trx_mysql_thread_id), COALESCE(p.user, '?'),
                       COALESCE(p.command, '?'), TIMESTAMPDIFF(SECOND, b.trx_started, NOW()),
                       COALESCE(b.trx_query, p.info, '')
                  FROM (%s) AS w
                  JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking
                  JOIN information_schema.innodb_trx v ON v.trx_id = w.waiting
                  LEFT JOIN information_schema.processlist p ON p.id = b.trx_mysql_thread_id
                 WHERE v.trx_wait_started < NOW() - INTERVAL %d SECOND
                 GROUP BY 1, 3, 4, 5, 6
                 LIMIT 5
                """.formatted(
                waits.formatted(dot < 0 ? "DATABASE()" : "'" + table.substring(0, dot) + "'", table.substring(dot + 1)),
                SECONDS);
        return examination.queries().rows(sql).stream()
                .map(row -> {
                    String query = statement(String.valueOf(row.get(5)));
                    return finding(
                            "Connection " + row.get(0) + " of user " + row.get(2) + " (" + row.get(3)
                                    + ", in a transaction for " + row.get(4) + " s) keeps " + row.get(1)
                                    + " connections waiting for table " + table + "."
                                    + (query.isEmpty() ? "" : " Its statement: " + query),
                            "Let it commit or roll back; if it is forgotten, end it.",
                            "KILL " + row.get(0) + ";");
                })
                .toList();
    }

    /** The beginning of a statement, without its literals. */
    private static String statement(String sql) {
        String bare =
                sql.replaceAll("\\s+", " ").replaceAll("'(?:[^']|'')*'?", "?").replaceAll("\\b[0-9]+\\b", "?");
        return Quoted.shown(bare, SHOWN);
    }
}
