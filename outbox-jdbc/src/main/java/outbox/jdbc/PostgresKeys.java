package outbox.jdbc;

import java.sql.Connection;
import java.sql.SQLException;

/**
 * Keys on PostgreSQL. A transaction with a snapshot can lock the row of a key only if the row was not changed after
 * the snapshot. Each write or replay that takes the key changes the row.
 */
final class PostgresKeys extends KeyStatements {

    PostgresKeys(AbstractJdbcEventStore store) {
        super(store);
    }

    /**
     * Whether the migration is finished. Its last step drops the index for keys that tables of earlier
     * versions have.
     */
    @Override
    boolean isComplete(Connection conn) throws SQLException {
        TableName events = store().table();
        String index = events.simpleName() + "_control_key";
        return index.length() > PostgresDialect.MAX_NAME // tables of earlier versions had shorter names
                || !PostgresDialect.hasRelation(conn, events.sibling(index).value());
    }

    @Override
    boolean isFreeInSnapshot(Connection conn, String key, String named) throws SQLException {
        return hasEnded(conn, key, named, "").orElse(true);
    }
}
