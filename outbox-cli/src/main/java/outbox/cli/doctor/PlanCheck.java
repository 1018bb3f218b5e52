package outbox.cli.doctor;

import outbox.model.EventStatus;

import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Finds a claim that reads many more rows than it takes although its index exists. It uses EXPLAIN, which does not
 * run the claim. A full scan of a small table is no finding, because it is cheaper.
 */
final class PlanCheck extends Check {

    private static final long MANY = 10_000; // rows that a claim of a hundred events should not read
    private static final Pattern SORT = Pattern.compile("Sort  \\(cost=\\S+ rows=(\\d+)");

    PlanCheck() {
        super("plan", true);
    }

    @Override
    List<Finding> look(Examination examination) throws SQLException {
        Optional<String> trouble = examination.isPostgres()
                ? inPostgres(examination)
                : examination.isMySql() ? inMySql(examination) : inH2(examination);
        return trouble
                .map(what -> finding(
                        "The claim of " + examination.table() + " " + what + ".",
                        examination.isPostgres()
                                ? "Let the planner count the rows again; look for enable_indexscan = off in"
                                        + " SHOW ALL and in the settings of role and database, and at the"
                                        + " index of the claim by outbox schema check."
                                : "Let the planner count the rows again, and compare the index of the claim"
                                        + " with outbox schema print.",
                        examination.isMySql()
                                ? "ANALYZE TABLE " + examination.table() + ";"
                                : examination.isPostgres() ? "ANALYZE " + examination.table() + ";" : "ANALYZE;"))
                .stream()
                .toList();
    }

    /** Binds: now, and the lock expiry if the table has claims. */
    private static String claim(Examination examination, String pending) {
        return """
                SELECT event_id
                  FROM %1$s
                 WHERE %2$s
                   AND %3$s
                   %4$s
                 ORDER BY %5$s, %6$s
                 LIMIT 100
                """.formatted(
                        examination.table(),
                        pending,
                        examination.due(),
                        examination.kind().hasClaims() ? "AND (locked_at IS NULL OR locked_at < ?)" : "",
                        examination.kind().due(),
                        examination.kind().order());
    }

    /** The claims of MySQL and H2 select each status separately. */
    private static String claimOfOneStatus(Examination examination) {
        int maxAttempts = examination.subject().maxAttempts();
        return claim(examination, examination.kind().is(EventStatus.NEW, maxAttempts));
    }

    private static Object[] binds(Examination examination) {
        Instant now = examination.now();
        Queries queries = examination.queries();
        Object due = queries.time(examination.kind().due(), now);
        return examination.kind().hasClaims()
                ? new Object[] {
                    due,
                    queries.time("locked_at", now.minus(examination.limits().lease()))
                }
                : new Object[] {due};
    }

    private static Optional<String> inPostgres(Examination examination) throws SQLException {
        long rows = rows(examination, examination.table());
        if (rows < MANY) {
            return Optional.empty();
        }
        // a table of an earlier version, which MigrationCheck reports
        String control = " " + examination.table().substring(examination.table().indexOf('.') + 1) + "_control ";
        String sql = "EXPLAIN " + claim(examination, examination.pending());
        for (var row : examination.queries().rows(sql, binds(examination))) {
            String line = String.valueOf(row.get(0));
            if (line.contains("Seq Scan on") && !line.contains(control)) {
                return Optional.of("reads the whole table, about " + rows + " rows (" + line.strip() + ")");
            }
            Matcher sort = SORT.matcher(line);
            if (sort.find() && !line.contains("Incremental") && Long.parseLong(sort.group(1)) >= MANY) {
                return Optional.of("sorts about " + sort.group(1) + " rows (" + line.strip() + ")");
            }
        }
        return Optional.empty();
    }

    /** Binds: table. A table that was never analysed reports -1 rows; then the number is estimated from its pages. */
    private static long rows(Examination examination, String table) throws SQLException {
        return examination
                .queries()
                .number(
                        "SELECT CASE WHEN reltuples < 0 THEN relpages * 20 ELSE reltuples END FROM pg_class"
                                + " WHERE oid = to_regclass(?)",
                        table);
    }

    private static Optional<String> inMySql(Examination examination) throws SQLException {
        String sql = "EXPLAIN " + claimOfOneStatus(examination);
        for (var row : examination.queries().rows(sql, binds(examination))) {
            String plan = String.join(" | ", row.stream().map(String::valueOf).toList());
            long rows = row.stream()
                    .filter(cell -> cell != null && cell.matches("\\d+"))
                    .mapToLong(Long::parseLong)
                    .max()
                    .orElse(0);
            boolean isBad = row.contains("ALL") || plan.toLowerCase(Locale.ROOT).contains("filesort");
            if (isBad && rows >= MANY) {
                return Optional.of("reads or sorts about " + rows + " rows (" + plan + ")");
            }
        }
        return Optional.empty();
    }

    private static Optional<String> inH2(Examination examination) throws SQLException {
        if (examination.queries().count("1 = 1") < MANY) {
            return Optional.empty();
        }
        String sql = "EXPLAIN " + claimOfOneStatus(examination);
        for (var row : examination.queries().rows(sql, binds(examination))) {
            if (String.valueOf(row.get(0)).contains("tableScan")) {
                return Optional.of("reads the whole table");
            }
        }
        return Optional.empty();
    }
}
