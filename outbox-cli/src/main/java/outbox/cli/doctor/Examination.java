package outbox.cli.doctor;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Clock;
import java.time.Instant;
import java.util.List;

/**
 * One table, examined on one connection.
 *
 * @param autoCommit whether the connection was opened with auto-commit
 * @param flags the flags that select the database in a call of the command
 * @param notes receives observations that are unusual but not wrong
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

    /** On PostgreSQL, the ids of the table and of the tables that inherit from it. Binds: table. */
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

    /** SQL condition: the event is neither delivered nor dead. */
    String pending() {
        return kind().pending(subject.maxAttempts());
    }

    /** SQL condition: the event is due. Binds: now. */
    String due() {
        return kind() == TableKind.TEXT_STATUS
                ? "(next_retry_time IS NULL OR next_retry_time <= ?)"
                : kind().due() + " <= ?";
    }

    /** Whether events are in a second table that inherits from this one, as in earlier versions. */
    boolean hasControlTable() throws SQLException {
        // Binds: names of both tables.
        String sql = "SELECT 1 FROM pg_inherits WHERE inhparent = to_regclass(?) AND inhrelid = to_regclass(?)";
        return isPostgres() && !queries.rows(sql, table(), table() + "_control").isEmpty();
    }

    /** The name of a side table in the same schema. */
    String sideTable(String name) {
        return table().substring(0, table().indexOf('.') + 1) + name;
    }

    /** The side tables that may exist in this schema. */
    List<String> sideTables() {
        return SIDE_TABLES.stream().map(this::sideTable).toList();
    }

    /** SQL condition: a row of a view of information_schema belongs to this table. The name has been checked. */
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

    /** A call of the command for this table. */
    OutboxCall call(String command) {
        return new OutboxCall(command, flags).with("--table", table());
    }

    String literal(String text) {
        return Quoted.literal(text, isMySql());
    }

    String identifier(String text) {
        return Quoted.identifier(text, isMySql());
    }

    /** The SQL for the current time on PostgreSQL, MySQL or MariaDB, in the type of the column. */
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

    /** The time of the database. */
    Instant now() {
        return subject.store().now(connection);
    }
}
