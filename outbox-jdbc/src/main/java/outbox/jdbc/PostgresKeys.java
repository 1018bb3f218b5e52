package outbox.jdbc;

import java.sql.Connection;
import java.sql.SQLException;

/**
 * Keys on PostgreSQL. A transaction with a snapshot of its own can lock the row of a key only if it was not changed
 * since, and each write or replay that takes the key changes it.
 */
final class PostgresKeys extends KeyStatements {

    PostgresKeys(AbstractJdbcEventStore store) {
        super(store);
    }

    /** The last step of the migration drops the index that V3 had for keys. */
    @Override
    boolean isComplete(Connection conn) throws SQLException {
        TableName events = store().table();
        return !OutboxSchema.hasRelation(conn, events.sibling(events.simpleName() + "_control_key"));
    }

    @Override
    boolean isFreeInSnapshot(Connection conn, String key, String named) throws SQLException {
        return hasEnded(conn, key, named, "").orElse(true);
    }
}
