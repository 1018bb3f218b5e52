package outbox.cli.doctor;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** A table or column is missing. */
final class MigrationCheck implements Check {

    private static final Set<String> MISSING = Set.of("42P01", "3F000", "42S02", "42S03", "42S04", "90079");

    @Override
    public String name() {
        return "migration";
    }

    @Override
    public List<Finding> look(Examination examination) throws SQLException {
        List<Finding> findings = new ArrayList<>();
        String table = examination.table();
        List<String> missing = missing(examination);
        if (!missing.isEmpty()) {
            findings.add(finding(
                    "Table " + table + " lacks the columns " + String.join(", ", missing) + ".",
                    "Bring it to the shape that outbox schema print --table " + table + " shows."));
        }
        String audit = examination.beside("outbox_audit");
        if (!hasTable(examination.connection(), audit)) {
            findings.add(finding(
                    "There is no table " + audit + ", so nothing can be replayed, discarded or purged by hand.",
                    "Run: outbox schema apply --table " + table));
        }
        String limits = examination.beside("outbox_attempt_limit");
        if (examination.kind() == TableKind.MODULE
                && examination.isPostgres()
                && !hasTable(examination.connection(), limits)) {
            findings.add(finding(
                    "There is no table " + limits + ", so the database does not know after how many attempts events of "
                            + table + " are dead, and nothing can be replayed or discarded by hand.",
                    "Run: outbox schema apply --table " + table));
        }
        for (String expected : examination.limits().expected()) {
            boolean isTable = expected.startsWith("outbox_");
            boolean isThere = isTable
                    ? hasTable(examination.connection(), examination.beside(expected))
                    : examination.queries().hasColumn(expected);
            if (!isThere) {
                findings.add(finding(
                        (isTable
                                        ? "There is no table " + examination.beside(expected)
                                        : "Table " + table + " has no column " + expected)
                                + ", which a feature needs that the application is said to use.",
                        "Run: outbox schema apply --table " + table + " --with <that feature>"));
            }
        }
        return findings;
    }

    static List<String> missing(Examination examination) {
        return examination.kind().columns().stream()
                .filter(column -> !examination.queries().hasColumn(column))
                .toList();
    }

    static Finding noTable(String table) {
        return new Finding(
                "migration", "There is no table " + table + ".", "Run: outbox schema apply --table " + table);
    }

    static boolean hasTable(Connection connection, String table) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.executeQuery("SELECT 1 FROM " + table + " WHERE 1 = 0").close();
            return true;
        } catch (SQLException e) {
            if (e.getSQLState() != null && MISSING.contains(e.getSQLState())) {
                if (!connection.getAutoCommit()) {
                    connection.rollback();
                }
                return false;
            }
            throw e;
        }
    }
}
