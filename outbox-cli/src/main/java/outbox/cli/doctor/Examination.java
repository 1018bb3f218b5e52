package outbox.cli.doctor;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Clock;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/**
 * One table, seen through one connection.
 *
 * @param autoCommit whether the connection began with auto-commit
 * @param flags what names the database in a call of the command
 * @param notes takes what is unusual and not wrong by itself
 */
record Examination(
        Connection connection,
        Subject subject,
        Queries queries,
        Limits limits,
        Clock clock,
        boolean autoCommit,
        List<String> flags,
        List<String> notes) {

    /** On PostgreSQL, the ids of the table and of what inherits from it. Binds: table. */
    static final String TREE = """
            (WITH root AS (SELECT to_regclass(?)::oid AS oid)
             SELECT oid FROM root
             UNION ALL
             SELECT i.inhrelid FROM pg_inherits i JOIN root ON i.inhparent = root.oid)
            """;

    private static final List<String> SIDE_TABLES =
            List.of("outbox_audit", "outbox_pause", "outbox_attempt", "outbox_key", "outbox_inbox", "outbox_reconcile");

    String table() {
        return subject.table();
    }

    TableKind kind() {
        return subject.kind();
    }

    /** The condition that an event is neither delivered nor dead. */
    String pending() {
        return kind().pending(subject.maxAttempts());
    }

    /** The condition that an event is due. Binds: now. */
    String due() {
        return kind() == TableKind.TEXT_STATUS
                ? "(next_retry_time IS NULL OR next_retry_time <= ?)"
                : kind().due() + " <= ?";
    }

    /** The table, and the one that has the events which use delivery control, if that is another. */
    List<String> tables() throws SQLException {
        List<String> tables = new ArrayList<>(List.of(table()));
        if (isPostgres()) {
            // Binds: names of both tables.
            String sql = "SELECT 1 FROM pg_inherits WHERE inhparent = to_regclass(?) AND inhrelid = to_regclass(?)";
            String control = table() + "_control";
            if (!queries.rows(sql, table(), control).isEmpty()) {
                tables.add(control);
            }
        }
        return tables;
    }

    /** The name of a side table, in the same schema. */
    String beside(String name) {
        return table().substring(0, table().indexOf('.') + 1) + name;
    }

    /** The side tables that outbox tables of this schema may have; they need not be there. */
    List<String> sideTables() {
        return SIDE_TABLES.stream().map(this::beside).toList();
    }

    /** The condition that a row of a view of information_schema is about this table, whose name is checked. */
    String isOf(String table, String schemaColumn, String tableColumn) {
        int dot = table.indexOf('.');
        String here = isMySql() ? "DATABASE()" : "CURRENT_SCHEMA";
        return "LOWER(%s) = LOWER(%s) AND LOWER(%s) = LOWER('%s')"
                .formatted(
                        schemaColumn,
                        dot < 0 ? here : "'" + table.substring(0, dot) + "'",
                        tableColumn,
                        table.substring(dot + 1));
    }

    /** A call of the command about this table. */
    OutboxCall call(String command) {
        return new OutboxCall(command, flags).with("--table", table());
    }

    String literal(String text) {
        return Quoted.literal(text, isMySql());
    }

    String identifier(String text) {
        return Quoted.identifier(text, isMySql());
    }

    /** The time of a PostgreSQL, MySQL or MariaDB as SQL, for a column. */
    String nowFor(String column) {
        if (isMySql()) {
            return "UTC_TIMESTAMP(6)";
        }
        return queries.isZoned(column) ? "CURRENT_TIMESTAMP" : "CURRENT_TIMESTAMP AT TIME ZONE 'UTC'";
    }

    boolean isPostgres() {
        return subject.database().equals("postgresql");
    }

    boolean isMySql() {
        return subject.database().equals("mysql");
    }

    /** The database's time. */
    Instant now() {
        return subject.store().now(connection);
    }
}
