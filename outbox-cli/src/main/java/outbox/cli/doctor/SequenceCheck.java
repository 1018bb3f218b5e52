package outbox.cli.doctor;

import org.jspecify.annotations.Nullable;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Finds event numbers that are nearly used up, that start again, or that are lower than the numbers of existing
 * events.
 */
final class SequenceCheck extends Check {

    private static final BigDecimal NEAR = new BigDecimal("0.8"); // fraction of the range
    private static final BigDecimal BIGINT = new BigDecimal(Long.MAX_VALUE);
    private static final int SAMPLE = 5_000; // rows whose numbers are compared

    SequenceCheck() {
        super("sequence", true);
    }

    @Override
    List<Finding> look(Examination examination) throws SQLException {
        return examination.isPostgres() ? inPostgres(examination) : inOthers(examination);
    }

    private List<Finding> inPostgres(Examination examination) throws SQLException {
        List<String> tables = new ArrayList<>(List.of(examination.table()));
        tables.addAll(examination.sideTables());
        BigDecimal largest = largest(examination); // read before the sequence, which only rises
        // Binds: table.
        String sql = """
                SELECT s.seqrelid::regclass::text, d.refobjid::regclass::text, a.attname, a.atttypid::regtype::text,
                       s.seqmax, s.seqcycle, s.seqincrement,
                       CASE WHEN has_sequence_privilege(s.seqrelid, 'SELECT, USAGE')
                            THEN COALESCE(pg_sequence_last_value(s.seqrelid), 0) END
                  FROM pg_sequence s
                  JOIN pg_depend d
                    ON d.classid = 'pg_class'::regclass AND d.objid = s.seqrelid
                   AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
                  JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
                 WHERE d.refobjid = to_regclass(?)
                """;
        List<Finding> findings = new ArrayList<>();
        for (String table : tables) {
            for (List<@Nullable String> row : examination.queries().rows(sql, table)) {
                boolean isOrder = table.equals(examination.table())
                        && String.valueOf(row.get(2)).equals(numbers(examination.kind()));
                if (row.get(7) == null) {
                    examination
                            .notes()
                            .add("Sequence " + row.get(0) + " was not looked at: this user may not read it.");
                } else {
                    findings.addAll(inPostgres(row, isOrder ? largest : BigDecimal.ZERO));
                }
            }
        }
        return findings;
    }

    private List<Finding> inPostgres(List<@Nullable String> row, BigDecimal largest) {
        String sequence = String.valueOf(row.get(0));
        String table = String.valueOf(row.get(1));
        String column = Quoted.identifier(String.valueOf(row.get(2)), false);
        BigDecimal ofType = largestOf(String.valueOf(row.get(3)));
        BigDecimal end = new BigDecimal(String.valueOf(row.get(4))).min(ofType);
        boolean isRising = !String.valueOf(row.get(6)).startsWith("-");
        List<Finding> findings = new ArrayList<>();
        if ("t".equals(row.get(5))) {
            findings.add(finding(
                    "Sequence " + sequence
                            + " starts again at its end (CYCLE): later events then have smaller numbers.",
                    "Turn that off.",
                    "ALTER SEQUENCE " + sequence + " NO CYCLE;"));
        }
        BigDecimal last = new BigDecimal(String.valueOf(row.get(7))); // 0 if it was never used
        if (isRising && isNear(last, end)) {
            List<String> commands = new ArrayList<>();
            if (ofType.compareTo(BIGINT) < 0) {
                commands.add("ALTER TABLE " + table + " ALTER COLUMN " + column + " TYPE BIGINT;");
            }
            if (end.compareTo(BIGINT) < 0) {
                commands.add("ALTER SEQUENCE " + sequence + " AS BIGINT MAXVALUE " + BIGINT + ";");
            }
            findings.add(finding(
                    "Sequence " + sequence + " of " + table + " has given " + last + " of " + end
                            + " numbers. When they are used up, each write of an event fails.",
                    commands.isEmpty()
                            ? "Find out who set it so high. When the table is empty, let it start again:"
                                    + " ALTER SEQUENCE … RESTART."
                            : "Make room for larger numbers. The change of a column's type rewrites the table"
                                    + " and locks it meanwhile.",
                    commands));
        }
        if (isRising && largest.compareTo(last) > 0 && largest.signum() > 0) {
            findings.add(finding(
                    "Sequence " + sequence + " stands at " + last + ", but an event of "
                            + table + " has the number " + largest
                            + ": events that are written now have smaller numbers than those before them, or none.",
                    "Set it to the largest number.",
                    "SELECT setval('" + sequence.replace("'", "''") + "', (SELECT MAX(" + column + ") FROM " + table
                            + "));"));
        }
        return findings;
    }

    /** The column with the event numbers. */
    private static String numbers(TableKind kind) {
        return switch (kind) {
            case EVENT -> "seq";
            case MODULE, TEXT_STATUS -> kind.order();
        };
    }

    /** The largest number in a sample of pending events; 0 if there is none. */
    private static BigDecimal largest(Examination examination) throws SQLException {
        String column = numbers(examination.kind());
        if (!examination.queries().hasColumn(column)) {
            return BigDecimal.ZERO;
        }
        String sql = "SELECT MAX(n) FROM (SELECT %s AS n FROM %s WHERE %s LIMIT %d) AS sample"
                .formatted(column, examination.table(), examination.pending(), SAMPLE);
        return number(examination.queries().rows(sql).get(0).get(0)).orElse(BigDecimal.ZERO);
    }

    /** Checks numbers that a column generates: AUTO_INCREMENT or an identity. */
    private List<Finding> inOthers(Examination examination) throws SQLException {
        boolean isMySql = examination.isMySql();
        String sql = "SELECT column_name, %s FROM information_schema.columns WHERE %s AND %s"
                .formatted(
                        isMySql ? "column_type" : "data_type",
                        isMySql ? "extra LIKE '%auto_increment%'" : "is_identity = 'YES'",
                        examination.isOf(examination.table(), "table_schema", "table_name"));
        List<Finding> findings = new ArrayList<>();
        for (List<@Nullable String> row : examination.queries().rows(sql)) {
            String column = String.valueOf(row.get(0));
            BigDecimal end = largestOf(String.valueOf(row.get(1)));
            BigDecimal last = last(examination, column);
            if (isNear(last, end)) {
                findings.add(finding(
                        "Column " + column + " of " + examination.table() + " has given " + last.toPlainString()
                                + " of " + end.toPlainString()
                                + " numbers. When they are used up, each write of an event fails.",
                        end.compareTo(BIGINT) < 0
                                ? "Make room for larger numbers. The statement rewrites the table and locks it"
                                        + " meanwhile."
                                : "Find out who wrote such a number, and delete it. Then set AUTO_INCREMENT to"
                                        + " the largest number that is left.",
                        end.compareTo(BIGINT) < 0 && isMySql
                                ? List.of("ALTER TABLE " + examination.table() + " MODIFY " + column
                                        + " BIGINT NOT NULL AUTO_INCREMENT;")
                                : List.of()));
            }
        }
        return findings;
    }

    /** The largest number of a row, or the next generated number if the database reports it. Both use an index. */
    private static BigDecimal last(Examination examination, String column) throws SQLException {
        Queries queries = examination.queries();
        BigDecimal largest = number(queries.rows("SELECT MAX(" + column + ") FROM " + examination.table())
                        .get(0)
                        .get(0))
                .orElse(BigDecimal.ZERO);
        if (!examination.isMySql()) {
            return largest;
        }
        String sql = "SELECT auto_increment FROM information_schema.tables WHERE "
                + examination.isOf(examination.table(), "table_schema", "table_name");
        return queries.rows(sql).stream()
                .findFirst()
                .flatMap(row -> number(row.get(0)))
                .orElse(BigDecimal.ZERO)
                .max(largest);
    }

    private static Optional<BigDecimal> number(@Nullable String text) {
        return Optional.ofNullable(text).map(BigDecimal::new);
    }

    private static boolean isNear(BigDecimal last, BigDecimal end) {
        return last.compareTo(end.multiply(NEAR).setScale(0, RoundingMode.DOWN)) >= 0;
    }

    private static BigDecimal largestOf(String type) {
        String name = type.toLowerCase(Locale.ROOT);
        int bits = name.startsWith("tiny")
                ? 8
                : name.startsWith("small") ? 16 : name.startsWith("medium") ? 24 : name.startsWith("int") ? 32 : 64;
        return BigDecimal.valueOf(2)
                .pow(name.contains("unsigned") ? bits : bits - 1)
                .subtract(BigDecimal.ONE);
    }
}
