package outbox.cli.doctor;

import org.jspecify.annotations.Nullable;

import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Finds a user of this connection who has only some of the privileges of a relay or an operator. A user who may only
 * read is no finding. PostgreSQL, MySQL and MariaDB.
 */
final class PrivilegeCheck extends Check {

    private static final Set<Integer> DENIED = Set.of(1142, 1143); // for the table, for a column

    PrivilegeCheck() {
        super("privilege", false);
    }

    @Override
    List<Finding> look(Examination examination) throws SQLException {
        if (!examination.isPostgres() && !examination.isMySql()) {
            return List.of();
        }
        String user = user(examination);
        Map<String, List<String>> missing = missing(examination);
        if (missing.isEmpty()) {
            return List.of();
        }
        List<String> words = new ArrayList<>();
        List<String> grants = new ArrayList<>();
        missing.forEach((table, privileges) -> {
            String list = String.join(", ", privileges);
            words.add(list + " on " + table);
            grants.add("GRANT " + list + " ON " + table + " TO " + user + ";");
        });
        return List.of(finding(
                "User " + user + " has no privilege " + String.join("; ", words)
                        + ". A relay needs SELECT to see events, UPDATE to take and mark them, DELETE to purge them.",
                "Grant what is missing, as the owner of the tables; or examine with the user that relays this table.",
                grants));
    }

    /** The user as a GRANT names it. */
    static String user(Examination examination) throws SQLException {
        Queries queries = examination.queries();
        if (examination.isPostgres()) {
            return Quoted.identifier(
                    String.valueOf(queries.rows("SELECT current_user").get(0).get(0)), false);
        }
        String account =
                String.valueOf(queries.rows("SELECT CURRENT_USER()").get(0).get(0));
        int at = account.lastIndexOf('@');
        return examination.literal(account.substring(0, at)) + "@" + examination.literal(account.substring(at + 1));
    }

    /** The missing privileges by table. */
    private static Map<String, List<String>> missing(Examination examination) throws SQLException {
        String table = examination.table();
        Map<String, List<String>> missing = new LinkedHashMap<>();
        boolean reads = may(examination, table, "SELECT");
        if (!reads) {
            missing.put(table, new ArrayList<>(List.of("SELECT")));
        }
        boolean updates = may(examination, table, "UPDATE");
        boolean deletes = may(examination, table, "DELETE");
        if (!updates && !deletes && (!reads || !may(examination, table, "INSERT"))) {
            return missing; // a user who only reads
        }
        List<String> own = missing.computeIfAbsent(table, name -> new ArrayList<>());
        if (!updates) {
            own.add("UPDATE");
        }
        if (!deletes) {
            own.add("DELETE");
        }
        if (own.isEmpty()) {
            missing.remove(table);
        }
        for (Map.Entry<String, List<String>> need : sideNeeds(examination).entrySet()) {
            List<String> none = new ArrayList<>();
            for (String privilege : need.getValue()) {
                if (!may(examination, need.getKey(), privilege)) {
                    none.add(privilege);
                }
            }
            boolean isForOperators = need.getKey().endsWith("outbox_audit");
            if (!none.isEmpty()
                    && !(isForOperators && none.size() == need.getValue().size())) {
                missing.put(need.getKey(), none);
            }
        }
        return missing;
    }

    /**
     * The privileges that a relay needs on existing side tables, and commands that change events need on the audit
     * table.
     */
    private static Map<String, List<String>> sideNeeds(Examination examination) throws SQLException {
        Map<String, List<String>> needs = new LinkedHashMap<>();
        needs.put("outbox_audit", List.of("SELECT", "INSERT", "UPDATE"));
        if (examination.kind() == TableKind.EVENT) {
            needs.put("outbox_pause", List.of("SELECT"));
            needs.put("outbox_attempt", List.of("SELECT", "INSERT", "DELETE"));
            needs.put("outbox_key", List.of("SELECT", "DELETE"));
        }
        Map<String, List<String>> found = new LinkedHashMap<>();
        for (Map.Entry<String, List<String>> need : needs.entrySet()) {
            String table = examination.sideTable(need.getKey());
            if (isThere(examination, table)) {
                found.put(table, need.getValue());
            }
        }
        return found;
    }

    /** Whether the table exists, even if the user may not read it, where the database reports that. */
    private static boolean isThere(Examination examination, String table) throws SQLException {
        try {
            return MigrationCheck.hasTable(examination.connection(), table);
        } catch (SQLException e) {
            if (DENIED.contains(e.getErrorCode())) {
                return true;
            }
            throw e;
        }
    }

    /** Whether this user has the privilege, at least for some columns. */
    static boolean may(Examination examination, String table, String privilege) throws SQLException {
        if (examination.isPostgres()) {
            return mayInPostgres(examination, table, privilege);
        }
        return !examination.isMySql() || mayInMySql(examination, table, privilege);
    }

    /** Binds: table and privilege, twice. DELETE cannot be granted for columns. */
    private static boolean mayInPostgres(Examination examination, String table, String privilege) throws SQLException {
        String onColumns = privilege.equals("DELETE")
                ? "has_table_privilege(to_regclass(?)::oid, ?)"
                : "has_any_column_privilege(to_regclass(?)::oid, ?)";
        String sql = "SELECT has_table_privilege(to_regclass(?)::oid, ?) OR " + onColumns;
        List<@Nullable String> row = examination
                .queries()
                .rows(sql, table, privilege, table, privilege)
                .get(0);
        return "t".equals(row.get(0));
    }

    /** Uses EXPLAIN, which runs nothing and also respects roles. */
    private static boolean mayInMySql(Examination examination, String table, String privilege) throws SQLException {
        String column = table.endsWith("outbox_audit")
                ? "outbox_table"
                : table.equals(examination.table()) ? examination.kind().type() : "event_id";
        String sql = switch (privilege) {
            case "SELECT" -> "EXPLAIN SELECT 1 FROM " + table + " WHERE 1 = 0";
            case "INSERT" -> "EXPLAIN INSERT INTO " + table + " (" + column + ") VALUES ('')";
            case "UPDATE" -> "EXPLAIN UPDATE " + table + " SET " + column + " = '' WHERE 1 = 0";
            default -> "EXPLAIN DELETE FROM " + table + " WHERE 1 = 0";
        };
        try (Statement statement = examination.connection().createStatement()) {
            statement.executeQuery(sql).close();
            return true;
        } catch (SQLException e) {
            if (DENIED.contains(e.getErrorCode())) {
                return false;
            }
            throw e;
        }
    }
}
