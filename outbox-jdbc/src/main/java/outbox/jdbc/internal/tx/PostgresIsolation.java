package outbox.jdbc.internal.tx;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;

/**
 * Sets READ COMMITTED for transactions of the framework. A pool, a role or the server may have set another isolation
 * level, in which claims and marks would fail when other nodes commit at the same time.
 *
 * <p>The default of each session is queried once. If it is another level, each transaction needs one more round trip
 * to change it. The change ends with the transaction, so nothing has to be restored. Thread-safe.
 */
public final class PostgresIsolation {

    private final Map<Connection, Boolean> isReadCommitted = // by physical connection
            Collections.synchronizedMap(new WeakHashMap<>());

    /** Must be called before the first statement of the transaction. */
    public void readCommitted(Connection conn) throws SQLException {
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

    /** SHOW takes no snapshot, so the isolation level can still be changed afterwards. */
    private static boolean isDefault(Statement statement) throws SQLException {
        try (ResultSet row = statement.executeQuery("SHOW default_transaction_isolation")) {
            return row.next() && row.getString(1).equals("read committed");
        }
    }
}
