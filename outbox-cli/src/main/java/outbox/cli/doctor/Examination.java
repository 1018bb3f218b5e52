package outbox.cli.doctor;

import outbox.jdbc.AbstractJdbcEventStore;

import java.sql.Connection;
import java.time.Clock;
import java.time.Instant;

/** One table, seen through one connection that commits each statement. */
record Examination(
        Connection connection,
        AbstractJdbcEventStore store,
        Columns columns,
        Queries queries,
        Limits limits,
        Clock clock) {

    String table() {
        return store.table().value();
    }

    /** The name of a table beside this one, in the same schema. */
    String beside(String name) {
        return table().substring(0, table().indexOf('.') + 1) + name;
    }

    boolean isPostgres() {
        return store.name().equals("postgresql");
    }

    boolean isMySql() {
        return store.name().equals("mysql");
    }

    /** The database's time. */
    Instant now() {
        return store.now(connection);
    }
}
