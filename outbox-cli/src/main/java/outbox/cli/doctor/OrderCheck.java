package outbox.cli.doctor;

import org.jspecify.annotations.Nullable;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/**
 * Finds problems with the order of an aggregate. On PostgreSQL: a sequence with a cache, where a session that
 * reserved its range earlier writes a smaller number later. On every database: rows from other programs that have an
 * aggregate id but no aggregate type. Such rows are ordered together, even if they belong to different aggregates.
 */
final class OrderCheck extends Check {

    OrderCheck() {
        super("order", true);
    }

    @Override
    List<Finding> look(Examination examination) throws SQLException {
        List<Finding> findings = new ArrayList<>(untyped(examination));
        if (examination.isPostgres()) {
            // Binds: table.
            String sql = """
                    SELECT s.seqrelid::regclass::text, s.seqcache
                      FROM pg_sequence s
                      JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = s.seqrelid
                     WHERE d.refclassid = 'pg_class'::regclass
                       AND d.refobjid = to_regclass(?)
                       AND d.deptype IN ('a', 'i')
                       AND s.seqcache > 1
                    """;
            for (List<@Nullable String> row : examination.queries().rows(sql, examination.table())) {
                findings.add(finding(
                        "Sequence " + row.get(0) + " has CACHE " + row.get(1)
                                + ": each session takes a range of numbers, so they do not rise in the order"
                                + " of commits.",
                        "Let it hand out numbers one by one; then let all writers reconnect.",
                        "ALTER SEQUENCE " + row.get(0) + " CACHE 1;"));
            }
        }
        return findings;
    }

    private List<Finding> untyped(Examination examination) throws SQLException {
        if (examination.kind() != TableKind.EVENT) {
            return List.of();
        }
        String sql = "SELECT COUNT(*) FROM %s WHERE %s AND aggregate_type IS NULL AND aggregate_id IS NOT NULL"
                .formatted(examination.table(), examination.pending());
        String count = String.valueOf(examination.queries().rows(sql).get(0).get(0));
        return count.equals("0")
                ? List.of()
                : List.of(finding(
                        count + " pending events have an aggregate_id but no aggregate_type. They are ordered as events"
                                + " of type __GLOBAL__, together with those of other aggregates that have the same id.",
                        "Let the program that inserts them fill aggregate_type."));
    }
}
