package outbox.cli.doctor;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/**
 * Finds what prevents the database from removing dead rows: a long transaction, an unused replication slot, or a
 * prepared transaction. Claims become slower while it lasts.
 */
final class HorizonCheck extends Check {

    HorizonCheck() {
        super("horizon", false);
    }

    @Override
    List<Finding> look(Examination examination) throws SQLException {
        if (examination.isPostgres()) {
            return inPostgres(examination);
        }
        return examination.isMySql() ? inMySql(examination) : List.of();
    }

    private List<Finding> inPostgres(Examination examination) throws SQLException {
        List<Finding> findings = new ArrayList<>();
        double seconds = examination.limits().longTransaction().toMillis() / 1000.0;
        // Binds: seconds.
        String sessions = """
                SELECT pid, COALESCE(usename, '?'), COALESCE(state, '?'), date_trunc('second', xact_start), COALESCE(application_name, '')
                  FROM pg_stat_activity
                 WHERE datname = current_database()
                   AND pid <> pg_backend_pid()
                   AND backend_type <> 'autovacuum worker'
                   AND xact_start < clock_timestamp() - ? * INTERVAL '1 second'
                 ORDER BY xact_start
                 LIMIT 5
                """;
        for (var row : examination.queries().rows(sessions, seconds)) {
            findings.add(finding(
                    "Session " + row.get(0) + " of user " + row.get(1) + " (" + row.get(4) + ", " + row.get(2)
                            + ") has a transaction open since " + row.get(3)
                            + ": dead rows of every table stay until it ends.",
                    "End it. Set idle_in_transaction_session_timeout and a time limit of statements.",
                    "SELECT pg_terminate_backend(" + row.get(0) + ");"));
        }
        String slots = """
                SELECT slot_name, COALESCE(GREATEST(age(xmin), age(catalog_xmin)), 0)
                  FROM pg_replication_slots
                 WHERE NOT active
                   AND (xmin IS NOT NULL OR catalog_xmin IS NOT NULL)
                 ORDER BY 2 DESC
                 LIMIT 5
                """;
        for (var row : examination.queries().rows(slots)) {
            findings.add(finding(
                    "Replication slot " + row.get(0) + " is read by nobody and holds back the removal of dead rows ("
                            + row.get(1) + " transactions), and keeps the log.",
                    "Start its reader, or drop it.",
                    "SELECT pg_drop_replication_slot(" + examination.literal(String.valueOf(row.get(0))) + ");"));
        }
        String prepared = """
                SELECT gid, date_trunc('second', prepared)
                  FROM pg_prepared_xacts
                 WHERE database = current_database()
                   AND prepared < clock_timestamp() - ? * INTERVAL '1 second'
                 LIMIT 5
                """;
        for (var row : examination.queries().rows(prepared, seconds)) {
            findings.add(finding(
                    "Prepared transaction " + Quoted.shown(String.valueOf(row.get(0)), 60) + " waits since "
                            + row.get(1) + ": it keeps its locks, and dead rows of every table.",
                    "Ask its transaction manager how it ended. If that does not know it, roll it back.",
                    "ROLLBACK PREPARED " + examination.literal(String.valueOf(row.get(0))) + ";"));
        }
        return findings;
    }

    /** Binds: seconds. */
    private List<Finding> inMySql(Examination examination) throws SQLException {
        String sql = """
                SELECT trx_mysql_thread_id, trx_started
                  FROM information_schema.innodb_trx
                 WHERE trx_started < NOW() - INTERVAL ? SECOND
                   AND trx_mysql_thread_id <> CONNECTION_ID()
                 ORDER BY trx_started
                 LIMIT 5
                """;
        return examination
                .queries()
                .rows(sql, examination.limits().longTransaction().toSeconds())
                .stream()
                .map(row -> finding(
                        "Connection " + row.get(0) + " has a transaction open since " + row.get(1)
                                + ": old versions of every row stay until it ends.",
                        "End it. Set a time limit for idle transactions.",
                        "KILL " + row.get(0) + ";"))
                .toList();
    }
}
