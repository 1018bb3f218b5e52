package outbox.jdbc.internal.sql;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** A count that may have to read a whole table. The database cancels it if it takes too long. */
public final class TimedCount {

    private static final int SECONDS = 3;

    private TimedCount() {}

    /** Counts the rows that match the condition. Both texts are constants of this library. */
    public static long of(Connection conn, String table, String condition) throws SQLException {
        try (Statement count = conn.createStatement()) {
            count.setQueryTimeout(SECONDS);
            try (ResultSet row = count.executeQuery("SELECT COUNT(*) FROM " + table + " WHERE " + condition)) {
                row.next();
                return row.getLong(1);
            }
        }
    }
}
