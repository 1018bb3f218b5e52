package outbox.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.util.List;

/**
 * Time limits of the server for transactions of the framework. They travel with the statement, so they cost no round
 * trip, and end with the transaction, so that they suit any pool and PgBouncer.
 *
 * <p>The server gives up before the driver does, which waits for as long as {@link Connection#getNetworkTimeout}
 * says: no session is left behind that still works, waits for a lock or
 * keeps a transaction open (ADR 48).
 */
final class PostgresLimits {

    private static final int LOCK_MILLIS = 250;

    /** Text of a statement with its limits. */
    private record Limited(String sql, int networkMillis) {}

    private PostgresLimits() {}

    /** SQL of the settings, each with a semicolon behind it. */
    static String settings(int networkMillis) {
        String lock = "SET LOCAL lock_timeout = " + LOCK_MILLIS + ";\n";
        if (networkMillis <= 0) {
            return lock;
        }
        return lock + "SET LOCAL statement_timeout = " + Math.max(1, networkMillis / 5 * 4)
                + ";\nSET LOCAL idle_in_transaction_session_timeout = " + networkMillis + ";\n";
    }

    /** How long the driver waits for an answer on this connection; 0 if it waits for ever, or cannot tell. */
    static int networkMillis(Connection conn) throws SQLException {
        try {
            return conn.getNetworkTimeout();
        } catch (SQLFeatureNotSupportedException | AbstractMethodError e) {
            return 0;
        }
    }

    static int update(JdbcTable table, Connection conn, String sql, JdbcTable.Binds binds) throws SQLException {
        try (PreparedStatement statements = prepare(table, conn, sql, binds)) {
            boolean answered = statements.execute();
            int count = statements.getUpdateCount();
            while (!answered && count >= 0) { // the last one counts
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

    static <T> List<T> query(
            JdbcTable table, Connection conn, String sql, JdbcTable.Binds binds, JdbcTable.RowMapper<T> mapper)
            throws SQLException {
        try (PreparedStatement statements = prepare(table, conn, sql, binds)) {
            return rows(statements, mapper);
        }
    }

    /** Runs settings and a query behind them. */
    static <T> List<T> rows(PreparedStatement statements, JdbcTable.RowMapper<T> mapper) throws SQLException {
        boolean answered = statements.execute();
        while (!answered && statements.getUpdateCount() >= 0) { // what a setting returns
            answered = statements.getMoreResults();
        }
        try (ResultSet rows = statements.getResultSet()) {
            return JdbcTable.all(rows, mapper);
        }
    }

    /** Planned for each execution: the plan that PostgreSQL would keep was made when the table was small. */
    private static PreparedStatement prepare(JdbcTable table, Connection conn, String sql, JdbcTable.Binds binds)
            throws SQLException {
        int millis = networkMillis(conn);
        TableShape shape = table.shape(conn);
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
