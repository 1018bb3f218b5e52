package outbox.cli.doctor;

import java.sql.SQLException;
import java.util.List;

/**
 * Finds parts of the table that belong to another user. ALTER TABLE, and so the next migration, then fails for both
 * users. PostgreSQL only.
 */
final class OwnerCheck extends Check {

    OwnerCheck() {
        super("owner", false);
    }

    /** Binds: table, twice. */
    @Override
    List<Finding> look(Examination examination) throws SQLException {
        if (!examination.isPostgres()) {
            return List.of();
        }
        String sql = """
                SELECT part.oid::regclass::text, pg_get_userbyid(part.relowner), pg_get_userbyid(root.relowner)
                  FROM pg_class part
                  JOIN pg_class root ON root.oid = to_regclass(?)
                 WHERE part.oid IN %s
                   AND part.relowner <> root.relowner
                 ORDER BY 1
                 LIMIT 5
                """.formatted(Examination.TREE);
        String table = examination.table();
        return examination.queries().rows(sql, table, table).stream()
                .map(row -> finding(
                        "Table " + row.get(0) + " belongs to " + row.get(1) + ", and " + table
                                + ", whose part it is, to " + row.get(2) + ": migrations fail with \"must be owner\".",
                        "Give both one owner.",
                        "ALTER TABLE " + row.get(0) + " OWNER TO " + examination.identifier(String.valueOf(row.get(2)))
                                + ";"))
                .toList();
    }
}
