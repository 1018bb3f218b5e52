package outbox.cli.doctor;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** An index is missing, or was left invalid by a build that failed: every claim then reads the whole table. */
final class IndexCheck implements Check {

    @Override
    public String name() {
        return "index";
    }

    @Override
    public List<Finding> look(Examination examination) throws SQLException {
        List<String> tables = examination.tables();
        List<Finding> findings = new ArrayList<>();
        for (String table : tables) {
            boolean isForControl = table.equals(tables.get(tables.size() - 1)); // which may be the only one
            findings.addAll(look(examination, table, isForControl));
        }
        return findings;
    }

    private List<Finding> look(Examination examination, String table, boolean isForControl) throws SQLException {
        List<Index> indexes = Index.of(examination, table);
        List<Finding> findings = new ArrayList<>();
        for (IndexNeed need : examination.kind().indexes(examination.isPostgres(), examination.queries())) {
            boolean isNeeded = isForControl || !need.isForControl();
            if (isNeeded && indexes.stream().noneMatch(need::isServedBy)) {
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
