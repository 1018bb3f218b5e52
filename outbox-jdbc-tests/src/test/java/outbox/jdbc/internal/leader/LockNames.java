package outbox.jdbc.internal.leader;

import java.sql.Connection;
import java.sql.SQLException;

/** Gives tests of other packages the names of locks. */
public final class LockNames {

    private LockNames() {}

    public static String onMySql(String table, Connection connection) throws SQLException {
        return MySqlLeaderLock.name(table, connection.getCatalog());
    }
}
