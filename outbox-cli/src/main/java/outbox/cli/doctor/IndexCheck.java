package outbox.cli.doctor;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/**
 * Finds indexes that are missing, or invalid after a failed build. Without them every claim reads the whole table.
 */
final class IndexCheck extends Check {

    IndexCheck() {
        super("index", true);
    }

    @Override
    List<Finding> look(Examination examination) throws SQLException {
        String table = examination.table();
        List<Index> indexes = Index.of(examination, table);
        List<Finding> findings = new ArrayList<>();
        for (IndexNeed need : examination.kind().indexes(examination.isPostgres(), examination.queries())) {
            if (indexes.stream().noneMatch(need::isServedBy)) {
                findings.add(finding(
                        "Table " + table + " has no " + (need.isUnique() ? "unique " : "") + "index for "
                                + need.purpose() + ", such as on (" + need.usual() + ").",
                        "Create the index that outbox schema print shows; on PostgreSQL with CREATE INDEX CONCURRENTLY,"
                                + " so that writers go on.",
                        MigrationCheck.print(examination)));
            }
        }
        indexes.stream()
                .filter(index -> !index.isValid())
                .forEach(index -> findings.add(finding(
                        "Index " + index.name() + " of " + table
                                + " is invalid: its build failed, and no query uses it.",
                        "Build it again.",
                        "REINDEX INDEX CONCURRENTLY " + index.name() + ";")));
        return findings;
    }
}
