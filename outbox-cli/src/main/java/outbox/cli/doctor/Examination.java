package outbox.cli.doctor;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Clock;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** One table, seen through one connection. */
record Examination(Connection connection, Subject subject, Queries queries, Limits limits, Clock clock) {

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

    /** The name of a table beside this one, in the same schema. */
    String beside(String name) {
        return table().substring(0, table().indexOf('.') + 1) + name;
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
