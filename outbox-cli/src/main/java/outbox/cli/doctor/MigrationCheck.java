package outbox.cli.doctor;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Finds missing tables and columns. */
final class MigrationCheck extends Check {

    private static final Set<String> MISSING = Set.of("42S02", "42S03", "42S04", "90079");

    MigrationCheck() {
        super("migration", true);
    }

    @Override
    List<Finding> look(Examination examination) throws SQLException {
        List<Finding> findings = new ArrayList<>();
        String table = examination.table();
        List<String> missing = missing(examination);
        if (!missing.isEmpty()) {
            findings.add(finding(
                    "Table " + table + " lacks the columns " + String.join(", ", missing) + ".",
                    "Bring it to the shape that outbox schema print shows.",
                    print(examination)));
        }
        if (examination.kind() == TableKind.EVENT && examination.hasControlTable()) {
            findings.add(finding(
                    "Table " + table + "_control of an earlier version still inherits from " + table
                            + ": ids are unique in each of the two only, and claims are slower.",
                    "Stop all nodes of the earlier version, then move its rows by outbox schema apply.",
                    examination.call("schema apply").toString()));
        }
        String audit = examination.sideTable("outbox_audit");
        if (!hasTable(examination.connection(), audit)) {
            findings.add(finding(
                    "There is no table " + audit + ", so nothing can be replayed, discarded or purged by hand.",
                    "Create it by outbox schema apply.",
                    examination.call("schema apply").toString()));
        }
        String limits = examination.sideTable("outbox_attempt_limit");
        if (examination.kind() == TableKind.MODULE
                && examination.isPostgres()
                && !hasTable(examination.connection(), limits)) {
            findings.add(finding(
                    "There is no table " + limits + ", so the database does not know after how many attempts events of "
                            + table + " are dead, and nothing can be replayed or discarded by hand.",
                    "Create it by outbox schema apply.",
                    examination.call("schema apply").toString()));
        }
        for (Map.Entry<String, String> expected :
                examination.limits().expected().entrySet()) {
            String place = expected.getKey();
            boolean isTable = place.startsWith("outbox_");
            boolean isThere = isTable
                    ? hasTable(examination.connection(), examination.sideTable(place))
                    : examination.queries().hasColumn(place);
            if (!isThere) {
                findings.add(finding(
                        (isTable
                                        ? "There is no table " + examination.sideTable(place)
                                        : "Table " + table + " has no column " + place)
                                + ", which the feature " + expected.getValue()
                                + " needs, and the application is said to use that.",
                        "Create it by outbox schema apply.",
                        examination
                                .call("schema apply")
                                .with("--with", expected.getValue())
                                .toString()));
            }
        }
        return findings;
    }

    /** The call that prints the DDL of this table. */
    static String print(Examination examination) {
        return examination
                .call("schema print")
                .with("--layout", examination.kind().name())
                .with("--store", examination.subject().database())
                .toString();
    }

    static List<String> missing(Examination examination) {
        return examination.kind().columns().stream()
                .filter(column -> !examination.queries().hasColumn(column))
                .toList();
    }

    static Finding noTable(String table, List<String> flags) {
        return new Finding(
                "migration",
                "There is no table " + table + ".",
                "Create it by outbox schema apply, or name another table by its schema and name.",
                List.of(new OutboxCall("schema apply", flags)
                        .with("--table", table)
                        .toString()));
    }

    /** On PostgreSQL this does not read the table, which may be locked or forbidden. */
    static boolean hasTable(Connection connection, String table) throws SQLException {
        if (connection.getMetaData().getDatabaseProductName().equals("PostgreSQL")) {
            try (PreparedStatement select = connection.prepareStatement("SELECT to_regclass(?) IS NOT NULL")) {
                select.setString(1, table);
                try (ResultSet row = select.executeQuery()) {
                    return row.next() && row.getBoolean(1);
                }
            }
        }
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
