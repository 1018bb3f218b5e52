package outbox.testing.fault;

import org.jspecify.annotations.Nullable;

import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.logging.Logger;
import javax.sql.DataSource;

/**
 * A data source that delegates to another one, injects the faults that a test asks for, and records how its
 * connections are used.
 *
 * <p>Every call on a connection or a statement can be made to fail, and so can {@code getConnection}. SQL can be
 * rewritten before it is executed. Result sets and metadata come directly from the driver. Any thread may call any
 * method. Faults and rewriting also affect open connections.
 */
public final class FaultyDataSource implements DataSource {
    private final DataSource target;
    private final FaultScript script = new FaultScript();
    private final ConnectionBooks books = new ConnectionBooks();

    /** Creates a data source without faults. */
    public FaultyDataSource(DataSource target) {
        this.target = target;
    }

    /**
     * Makes the n-th matching call fail with this SQLState before it has any effect. Calls are counted from 1,
     * starting now. Later calls succeed again.
     */
    public Fault failBefore(int nth, Predicate<Call> calls, String sqlState) {
        return failBefore(
                nth, calls, () -> new SQLException("The test wants this to fail before its effect", sqlState));
    }

    /** Like {@link #failBefore(int, Predicate, String)}, with an exception that the test supplies. */
    public Fault failBefore(int nth, Predicate<Call> calls, Supplier<? extends SQLException> exception) {
        return script.add(new FaultScript.Rule(nth, calls, exception, false));
    }

    /**
     * Lets the n-th matching call take effect and then fail with this SQLState, as if the reply were lost. Calls are
     * counted from 1, starting now. Later calls succeed again.
     */
    public Fault failAfter(int nth, Predicate<Call> calls, String sqlState) {
        return failAfter(nth, calls, () -> new SQLException("The test wants this to fail after its effect", sqlState));
    }

    /** Like {@link #failAfter(int, Predicate, String)}, with an exception that the test supplies. */
    public Fault failAfter(int nth, Predicate<Call> calls, Supplier<? extends SQLException> exception) {
        return script.add(new FaultScript.Rule(nth, calls, exception, true));
    }

    /**
     * Rewrites all SQL that is prepared or executed from now on. A second call replaces the first one.
     * {@link Call#sql()} returns the rewritten text.
     */
    public void rewriteSql(UnaryOperator<String> rewrite) {
        script.rewriteSql(rewrite);
    }

    /** Removes all faults that have not happened yet, and stops rewriting. */
    public void heal() {
        script.clear();
    }

    /** Returns how often a statement or a batch was sent to the database. */
    public long statements() {
        return books.statements();
    }

    /** Returns the number of open connections. */
    public int openConnections() {
        return books.open();
    }

    /** Returns the highest number of connections that were open at the same time. */
    public int peakConnections() {
        return books.peak();
    }

    /** Returns the state of connections when they were closed: the latest ten thousand, oldest first. */
    public List<ClosedConnection> closedConnections() {
        return books.closed();
    }

    @Override
    public Connection getConnection() throws SQLException {
        return open(target::getConnection);
    }

    @Override
    public Connection getConnection(String user, String password) throws SQLException {
        return open(() -> target.getConnection(user, password));
    }

    private Connection open(FaultScript.SqlSupplier<Connection> source) throws SQLException {
        var call = new Call("getConnection", null);
        script.before(call);
        var connection = FaultyConnection.around(source.get(), script, books);
        try {
            script.after(call);
            return connection;
        } catch (SQLException e) {
            connection.close(); // the caller never receives the connection
            throw e;
        }
    }

    @Override
    public <T> T unwrap(Class<T> type) throws SQLException {
        return type.isInstance(this) ? type.cast(this) : target.unwrap(type);
    }

    @Override
    public boolean isWrapperFor(Class<?> type) throws SQLException {
        return type.isInstance(this) || target.isWrapperFor(type);
    }

    @Override
    public @Nullable PrintWriter getLogWriter() throws SQLException {
        return target.getLogWriter();
    }

    @Override
    public void setLogWriter(@Nullable PrintWriter out) throws SQLException {
        target.setLogWriter(out);
    }

    @Override
    public int getLoginTimeout() throws SQLException {
        return target.getLoginTimeout();
    }

    @Override
    public void setLoginTimeout(int seconds) throws SQLException {
        target.setLoginTimeout(seconds);
    }

    @Override
    public Logger getParentLogger() throws SQLFeatureNotSupportedException {
        return target.getParentLogger();
    }

    /** A fault that a test requested. */
    public interface Fault {
        /** Returns whether the fault has happened. */
        boolean happened();
    }

    /**
     * A JDBC call.
     *
     * @param method the name of the JDBC method, such as {@code executeUpdate},
     *     {@code commit}, {@code setAutoCommit}
     * @param sql the SQL of the call, after rewriting; null for calls without SQL, such as {@code commit}
     */
    public record Call(String method, @Nullable String sql) {
        /** Matches calls of the method with this name. */
        public static Predicate<Call> to(String method) {
            return call -> call.method().equals(method);
        }

        /** Matches calls that send SQL with this text. */
        public static Predicate<Call> executing(String text) {
            return call ->
                    call.sendsStatement() && call.sql() != null && call.sql().contains(text);
        }

        /** Returns whether the call sends a statement or a batch to the database. */
        boolean sendsStatement() {
            return method.startsWith("execute");
        }
    }

    /** The settings of a connection. */
    public record ConnectionState(boolean autoCommit, boolean readOnly, int isolation) {}

    /**
     * The settings of a connection when it was opened and when it was closed.
     *
     * @param unfinished whether a statement was sent in a transaction that was neither committed nor rolled back
     */
    public record ClosedConnection(ConnectionState opened, ConnectionState closed, boolean unfinished) {
        /**
         * Returns whether the connection was closed with its original settings and without an open transaction, as a
         * pool requires.
         */
        public boolean isLeftAsFound() {
            return !unfinished && opened.equals(closed);
        }
    }
}
