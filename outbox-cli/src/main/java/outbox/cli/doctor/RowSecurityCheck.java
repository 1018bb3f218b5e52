package outbox.cli.doctor;

import java.sql.SQLException;
import java.util.List;

/** Finds row-level security that hides events from the user of a relay. PostgreSQL only. */
final class RowSecurityCheck extends Check {

    RowSecurityCheck() {
        super("rls", false);
    }

    /** A policy that lets the user see all rows is no finding. Binds: table. */
    @Override
    List<Finding> look(Examination examination) throws SQLException {
        if (!examination.isPostgres()) {
            return List.of();
        }
        String sql = """
                SELECT r.rolname
                  FROM pg_class c
                  JOIN pg_roles r
                    ON r.rolname = current_user
                    OR has_table_privilege(r.oid, c.oid, 'UPDATE')
                       AND r.oid IN (SELECT usesysid FROM pg_stat_activity WHERE datname = current_database())
                 WHERE c.oid = to_regclass(?)
                   AND c.relrowsecurity
                   AND NOT r.rolsuper
                   AND NOT r.rolbypassrls
                   AND (c.relforcerowsecurity OR NOT pg_has_role(r.oid, c.relowner, 'USAGE'))
                   AND (EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid AND NOT p.polpermissive)
                        OR NOT EXISTS (
                            SELECT 1
                              FROM pg_policy p
                             WHERE p.polrelid = c.oid
                               AND p.polpermissive
                               AND p.polcmd = '*'
                               AND pg_get_expr(p.polqual, p.polrelid) = 'true'
                               AND EXISTS (
                                   SELECT 1
                                     FROM unnest(p.polroles) AS m (oid)
                                    WHERE CASE WHEN m.oid = 0 THEN TRUE ELSE pg_has_role(r.oid, m.oid, 'USAGE') END)))
                 ORDER BY 1
                 LIMIT 5
                """;
        String table = examination.table();
        return examination.queries().rows(sql, table).stream()
                .map(row -> examination.identifier(String.valueOf(row.get(0))))
                .map(role -> finding(
                        "Row-level security of " + table + " applies to user " + role
                                + ": events that its policies do not show are never delivered, and never reported.",
                        "Let the user of the relay see all rows, by a policy or by ALTER ROLE " + role + " BYPASSRLS.",
                        "CREATE POLICY outbox_relay ON " + table + " TO " + role + " USING (true) WITH CHECK (true);"))
                .toList();
    }
}
