package outbox.jdbc;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;

/**
 * Lets transactions of the framework run in READ COMMITTED. In another isolation, which a pool, a role or the server
 * may have set, claims and marks would fail for what other nodes commit meanwhile.
 *
 * <p>A session is asked once for its default. Only if that is another one, each transaction pays a round trip to change
 * it; the change ends with the transaction, so nothing is to be restored. Thread-safe.
 */
final class PostgresIsolation {

    private final Map<Connection, Boolean> isReadCommitted = // of the driver's connections
            Collections.synchronizedMap(new WeakHashMap<>());

    /** To be called before the first statement of the transaction. */
    void readCommitted(Connection conn) throws SQLException {
        Connection physical = conn.isWrapperFor(Connection.class) ? conn.unwrap(Connection.class) : conn;
        Boolean known = isReadCommitted.get(physical);
        if (Boolean.TRUE.equals(known)) {
            return;
        }
        try (Statement statement = conn.createStatement()) {
            boolean suits = known == null && isDefault(statement);
            isReadCommitted.put(physical, suits);
            if (!suits) {
                statement.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
            }
        }
    }

    /** SHOW takes no snapshot, so the isolation can still be changed after it. */
    private static boolean isDefault(Statement statement) throws SQLException {
        try (ResultSet row = statement.executeQuery("SHOW default_transaction_isolation")) {
            return row.next() && row.getString(1).equals("read committed");
        }
    }
}
