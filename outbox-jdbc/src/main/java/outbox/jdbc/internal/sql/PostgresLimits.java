package outbox.jdbc.internal.sql;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.util.List;

/**
 * Server-side time limits for transactions of the framework. They are sent with the statement, so they need no round
 * trip, and end with the transaction, so they work with any pool and with PgBouncer.
 *
 * <p>The limits are shorter than the time that the driver waits, {@link Connection#getNetworkTimeout}. So no server
 * session remains that still works, waits for a lock or keeps a transaction open after the driver gave up (ADR 48).
 */
public final class PostgresLimits {

    private static final int LOCK_MILLIS = 250;

    /** The key of a statement with its limits. */
    private record Limited(String sql, int networkMillis) {}

    private PostgresLimits() {}

    /** Returns SQL for the settings, each followed by a semicolon. */
    public static String settings(int networkMillis) {
        String lock = "SET LOCAL lock_timeout = " + LOCK_MILLIS + ";\n";
        if (networkMillis <= 0) {
            return lock;
        }
        return lock + "SET LOCAL statement_timeout = " + Math.max(1, networkMillis / 5 * 4)
                + ";\nSET LOCAL idle_in_transaction_session_timeout = " + networkMillis + ";\n";
    }

    /** Returns the network timeout of the driver on this connection; 0 if it has none or does not support it. */
    public static int networkMillis(Connection conn) throws SQLException {
        try {
            return conn.getNetworkTimeout();
        } catch (SQLFeatureNotSupportedException | AbstractMethodError e) {
            return 0;
        }
    }

    public static int update(TableColumns shape, Connection conn, String sql, Binds binds) throws SQLException {
        try (PreparedStatement statements = prepare(shape, conn, sql, binds)) {
            boolean answered = statements.execute();
            int count = statements.getUpdateCount();
            while (!answered && count >= 0) { // the last result is that of the UPDATE
                answered = statements.getMoreResults();
                int next = statements.getUpdateCount();
                if (next < 0) {
                    return count;
                }
                count = next;
            }
            throw new SQLException("An UPDATE returned rows");
        }
    }

    public static <T> List<T> query(TableColumns shape, Connection conn, String sql, Binds binds, RowMapper<T> mapper)
            throws SQLException {
        try (PreparedStatement statements = prepare(shape, conn, sql, binds)) {
            return rows(statements, mapper);
        }
    }

    /** Executes the settings and the query that follows them. */
    public static <T> List<T> rows(PreparedStatement statements, RowMapper<T> mapper) throws SQLException {
        boolean answered = statements.execute();
        while (!answered && statements.getUpdateCount() >= 0) { // skip the results of the settings
            answered = statements.getMoreResults();
        }
        try (ResultSet rows = statements.getResultSet()) {
            return RowMapper.all(rows, mapper);
        }
    }

    /**
     * Plans the statement for each execution. PostgreSQL would keep a plan that was made when the table was small.
     */
    private static PreparedStatement prepare(TableColumns shape, Connection conn, String sql, Binds binds)
            throws SQLException {
        int millis = networkMillis(conn);
        PreparedStatement statements =
                conn.prepareStatement(shape.text(new Limited(sql, millis), () -> settings(millis) + sql));
        try {
            PostgresStatement.planEachTime(statements);
            binds.to(new Binder(statements, shape));
            return statements;
        } catch (Throwable e) {
            statements.close();
            throw e;
        }
    }
}
