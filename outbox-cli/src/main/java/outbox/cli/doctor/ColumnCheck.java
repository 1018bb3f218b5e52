package outbox.cli.doctor;

import org.jspecify.annotations.Nullable;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Finds time columns that do not keep the written value: columns that round to seconds or milliseconds, that the
 * database changes with each update, or whose default depends on the time zone of the session.
 */
final class ColumnCheck extends Check {

    private static final int MICROSECONDS = 6;

    /** A time column. */
    private record Time(
            String name,
            String type,
            int precision,
            boolean isNullable,
            @Nullable String standard,
            String extra) {}

    ColumnCheck() {
        super("column", false);
    }

    @Override
    List<Finding> look(Examination examination) throws SQLException {
        TableKind kind = examination.kind();
        Set<String> names = kind.hasClaims()
                ? Set.of(kind.due(), kind.created(), kind.end(), "locked_at")
                : Set.of(kind.due(), kind.created(), kind.end());
        List<Time> times = (examination.isPostgres() ? ofPostgres(examination) : ofOthers(examination))
                .stream().filter(time -> names.contains(time.name())).toList();
        List<Finding> findings = new ArrayList<>();
        if (kind.hasClaims()) { // the layout without claims uses whole seconds
            findings.addAll(rounded(examination, times));
        }
        findings.addAll(changing(examination, times));
        if (examination.isPostgres()) {
            findings.addAll(local(examination, times));
        }
        return findings;
    }

    private List<Finding> rounded(Examination examination, List<Time> times) {
        List<Time> rounded =
                times.stream().filter(time -> time.precision() < MICROSECONDS).toList();
        if (rounded.isEmpty()) {
            return List.of();
        }
        String shown = rounded.stream()
                .map(time -> time.name() + " (" + time.precision() + " digits)")
                .collect(Collectors.joining(", "));
        return List.of(finding(
                "Table " + examination.table() + " rounds times: " + shown
                        + ". A claim is known by its time to the microsecond (6 digits); rounded, two claims"
                        + " look like one, and marks are refused or hit the claim of another node.",
                "Give these columns 6 digits. The statement rewrites the table and locks it meanwhile.",
                change(examination, rounded)));
    }

    /** Finds ON UPDATE CURRENT_TIMESTAMP. Some servers add it to the first TIMESTAMP column of a table by default. */
    private List<Finding> changing(Examination examination, List<Time> times) {
        List<Time> changing = times.stream()
                .filter(time -> time.extra().toLowerCase(Locale.ROOT).contains("on update"))
                .filter(time -> !time.name().equals("update_time"))
                .toList();
        if (changing.isEmpty()) {
            return List.of();
        }
        return List.of(finding(
                "Table " + examination.table() + " has ON UPDATE CURRENT_TIMESTAMP at "
                        + changing.stream().map(Time::name).collect(Collectors.joining(", "))
                        + ": each claim and mark changes that time, whatever the relay wrote.",
                "Define these columns without it.",
                change(examination, changing)));
    }

    private List<Finding> local(Examination examination, List<Time> times) throws SQLException {
        List<String> local = times.stream()
                .filter(time -> time.type().equals("timestamp without time zone"))
                .filter(time -> time.standard() != null
                        && time.standard().matches("(?i).*(now\\(\\)|current_timestamp|localtimestamp).*")
                        && !time.standard().matches("(?i).*(at time zone|timezone\\().*"))
                .map(Time::name)
                .toList();
        String zone = String.valueOf(examination
                .queries()
                .rows("SELECT current_setting('TimeZone')")
                .get(0)
                .get(0));
        if (local.isEmpty() || zone.matches("(?i)(etc/)?(utc|uct|gmt|zulu)")) {
            return List.of();
        }
        String table = examination.table();
        return List.of(finding(
                "Columns " + String.join(", ", local) + " of " + table
                        + " have no time zone, and a default that gives the time of the session's zone, which is "
                        + zone
                        + ". They are read as UTC, so events are due, and old, by hours too early or too late.",
                "Let the default give UTC.",
                local.stream()
                        .map(column -> "ALTER TABLE " + table + " ALTER COLUMN " + column
                                + " SET DEFAULT (CURRENT_TIMESTAMP AT TIME ZONE 'UTC');")
                        .toList()));
    }

    private static String change(Examination examination, List<Time> times) {
        return "ALTER TABLE " + examination.table() + " "
                + times.stream().map(time -> change(examination, time)).collect(Collectors.joining(", ")) + ";";
    }

    private static String change(Examination examination, Time time) {
        if (examination.isPostgres()) {
            return "ALTER COLUMN " + time.name() + " TYPE "
                    + (time.type().equals("timestamp with time zone") ? "TIMESTAMPTZ(6)" : "TIMESTAMP(6)");
        }
        return examination.isMySql()
                ? "MODIFY " + time.name() + " DATETIME(6) " + (time.isNullable() ? "NULL" : "NOT NULL")
                : "ALTER COLUMN " + time.name() + " SET DATA TYPE TIMESTAMP(6)";
    }

    /** Binds: table. */
    private static List<Time> ofPostgres(Examination examination) throws SQLException {
        String sql = """
                SELECT a.attname, a.atttypid::regtype::text, CASE WHEN a.atttypmod < 0 THEN 6 ELSE a.atttypmod END,
                       a.attnotnull, pg_get_expr(d.adbin, d.adrelid)
                  FROM pg_attribute a
                  LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
                 WHERE a.attrelid = to_regclass(?)
                   AND a.attnum > 0
                   AND NOT a.attisdropped
                   AND a.atttypid IN ('timestamptz'::regtype, 'timestamp'::regtype)
                """;
        return examination.queries().rows(sql, examination.table()).stream()
                .map(row -> new Time(
                        String.valueOf(row.get(0)),
                        String.valueOf(row.get(1)),
                        Integer.parseInt(String.valueOf(row.get(2))),
                        !"t".equals(row.get(3)),
                        row.get(4),
                        ""))
                .toList();
    }

    private static List<Time> ofOthers(Examination examination) throws SQLException {
        String sql = """
                SELECT LOWER(column_name), LOWER(data_type), datetime_precision, is_nullable, column_default, %s
                  FROM information_schema.columns
                 WHERE %s
                   AND datetime_precision IS NOT NULL
                """.formatted(
                        examination.isMySql() ? "extra" : "''",
                        examination.isOf(examination.table(), "table_schema", "table_name"));
        return examination.queries().rows(sql).stream()
                .map(row -> new Time(
                        String.valueOf(row.get(0)),
                        String.valueOf(row.get(1)),
                        Integer.parseInt(String.valueOf(row.get(2))),
                        "YES".equals(row.get(3)),
                        row.get(4),
                        String.valueOf(row.get(5))))
                .toList();
    }
}
