package outbox.testing;

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
 * A data source that does what the one behind it does, except where a test says otherwise, and that keeps books on how
 * its connections are used.
 *
 * <p>Every call on a connection or a statement, and {@code getConnection} itself, can be made to fail, and SQL can be
 * rewritten on its way. Result sets and metadata are those of the driver. Any thread may call any method; faults and
 * rewriting act on open connections too.
 */
public final class FaultyDataSource implements DataSource {
    private final DataSource target;
    private final FaultScript script = new FaultScript();
    private final ConnectionBooks books = new ConnectionBooks();

    /** Creates a data source that is faultless until told otherwise. */
    public FaultyDataSource(DataSource target) {
        this.target = target;
    }

    /**
     * Makes the n-th matching call from now on, counted from 1, fail with this SQLState instead of having any effect.
     * Calls after it succeed again.
     */
    public Fault failBefore(int nth, Predicate<Call> calls, String sqlState) {
        return failBefore(
                nth, calls, () -> new SQLException("The test wants this to fail before its effect", sqlState));
    }

    /** As {@link #failBefore(int, Predicate, String)}, with an exception of the test's making. */
    public Fault failBefore(int nth, Predicate<Call> calls, Supplier<? extends SQLException> exception) {
        return script.add(new FaultScript.Rule(nth, calls, exception, false));
    }

    /**
     * Lets the n-th matching call from now on, counted from 1, have its effect and then fail with this SQLState, as if
     * the answer were lost. Calls after it succeed again.
     */
    public Fault failAfter(int nth, Predicate<Call> calls, String sqlState) {
        return failAfter(nth, calls, () -> new SQLException("The test wants this to fail after its effect", sqlState));
    }

    /** As {@link #failAfter(int, Predicate, String)}, with an exception of the test's making. */
    public Fault failAfter(int nth, Predicate<Call> calls, Supplier<? extends SQLException> exception) {
        return script.add(new FaultScript.Rule(nth, calls, exception, true));
    }

    /**
     * Changes all SQL that is prepared or executed from now on; a second call replaces the first. {@link Call#sql()} is
     * the text after the change.
     */
    public void rewriteSql(UnaryOperator<String> rewrite) {
        script.rewriteSql(rewrite);
    }

    /** Forgets all faults that have not happened, and stops rewriting. */
    public void heal() {
        script.clear();
    }

    /** Returns how many times a statement or a batch was sent to the database. */
    public long statements() {
        return books.statements();
    }

    /** Returns how many connections are open. */
    public int openConnections() {
        return books.open();
    }

    /** Returns the highest number of connections that were open at a time. */
    public int peakConnections() {
        return books.peak();
    }

    /** Returns how connections were left when they were closed, the latest ten thousand, oldest first. */
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
            connection.close(); // nobody else can
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

    /** A fault that was asked for. */
    public interface Fault {
        /** Returns whether it has happened. */
        boolean happened();
    }

    /**
     * A call that code makes.
     *
     * @param method the name of the JDBC method, such as {@code executeUpdate}, {@code commit}, {@code setAutoCommit}
     * @param sql the SQL it is about, after rewriting; null for calls that are about none, such as {@code commit}
     */
    public record Call(String method, @Nullable String sql) {
        /** Matches calls of the method with this name. */
        public static Predicate<Call> to(String method) {
            return call -> call.method().equals(method);
        }

        /** Matches calls that send SQL which contains this text. */
        public static Predicate<Call> executing(String text) {
            return call ->
                    call.sendsStatement() && call.sql() != null && call.sql().contains(text);
        }

        /** Whether the call sends a statement, or a batch of them, to the database. */
        boolean sendsStatement() {
            return method.startsWith("execute");
        }
    }

    /** How a connection is set. */
    public record ConnectionState(boolean autoCommit, boolean readOnly, int isolation) {}

    /**
     * How a connection was when it was opened and when it was closed.
     *
     * @param unfinished whether a statement was sent in a transaction that neither a commit nor a rollback ended
     */
    public record ClosedConnection(ConnectionState opened, ConnectionState closed, boolean unfinished) {
        /** Returns whether the connection was given back as it was found, as a pool wants it. */
        public boolean isLeftAsFound() {
            return !unfinished && opened.equals(closed);
        }
    }
}
