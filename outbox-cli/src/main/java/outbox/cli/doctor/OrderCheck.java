package outbox.cli.doctor;

import org.jspecify.annotations.Nullable;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/**
 * The numbers of the order come from a sequence that hands them out in ranges: a session that took its range earlier
 * writes a smaller number later. PostgreSQL only.
 */
final class OrderCheck implements Check {

    @Override
    public String name() {
        return "order";
    }

    @Override
    public List<Finding> look(Examination examination) throws SQLException {
        List<Finding> findings = new ArrayList<>();
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
            for (List<@Nullable String> row :
                    examination.queries().rows(sql, examination.tables().get(0))) {
                findings.add(finding(
                        "Sequence " + row.get(0) + " has CACHE " + row.get(1)
                                + ": each session takes a range of numbers, so they do not rise in the order of commits.",
                        "Run: ALTER SEQUENCE " + row.get(0) + " CACHE 1; then let all writers reconnect."));
            }
        }
        return findings;
    }
}
