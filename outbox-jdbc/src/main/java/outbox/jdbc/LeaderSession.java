package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.jdbc.LeaderLock.Seen;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.time.Duration;

/**
 * A dedicated connection for the lock of a leader. It is returned to its pool in its original state and without the
 * lock. If that is not certain, it is aborted, and the database releases the lock.
 *
 * <p>Used by one thread at a time.
 */
final class LeaderSession {

    private static final Duration SHORTEST_NETWORK_LIMIT = Duration.ofSeconds(1);
    private static final int RELEASE_TRIES = 20; // any of the proxy's sessions may have the lock

    private final Connection connection;
    private final LeaderLock lock;
    private final TableName table;
    private final boolean autoCommit;
    private final int networkTimeout; // the original value, to restore it; -1 if the driver does not support it
    private long session; // the session that has the lock

    private LeaderSession(
            Connection connection, LeaderLock lock, TableName table, boolean autoCommit, int networkTimeout) {
        this.connection = connection;
        this.lock = lock;
        this.table = table;
        this.autoCommit = autoCommit;
        this.networkTimeout = networkTimeout;
    }

    static LeaderSession on(Connection connection, String database, TableName table, Duration term)
            throws SQLException {
        try {
            boolean autoCommit = connection.getAutoCommit();
            int networkTimeout = limitNetwork(connection, term);
            if (!autoCommit) {
                connection.setAutoCommit(true);
            }
            return new LeaderSession(
                    connection, lockOf(database, connection, table, term), table, autoCommit, networkTimeout);
        } catch (Throwable e) {
            abort(connection, e);
            throw e;
        }
    }

    private static LeaderLock lockOf(String database, Connection connection, TableName table, Duration term)
            throws SQLException {
        return switch (database) {
            case "postgresql" -> new PostgresLeaderLock(table);
            case "mysql" -> new MySqlLeaderLock(table, connection);
            case "h2" -> new H2LeaderLock(table, term);
            default ->
                throw new LeadershipRefusedException(
                        "No leader can be had for table " + table + " of a database of type " + database
                                + "; known: h2, mysql, postgresql. Write a Leadership of your own.");
        };
    }

    /**
     * Limits the wait for the network, because an unreachable server must not block the thread. The lock counts as
     * lost then.
     */
    private static int limitNetwork(Connection connection, Duration term) throws SQLException {
        Duration twice = term.multipliedBy(2);
        Duration limit = twice.compareTo(SHORTEST_NETWORK_LIMIT) < 0 ? SHORTEST_NETWORK_LIMIT : twice;
        try {
            int before = connection.getNetworkTimeout();
            connection.setNetworkTimeout(Runnable::run, Math.toIntExact(limit.toMillis()));
            return before;
        } catch (SQLFeatureNotSupportedException | AbstractMethodError e) {
            return -1;
        }
    }

    /**
     * Takes the lock if it is free. Refuses a connection that already has the lock: it would have to be
     * released twice.
     */
    boolean tryTake() throws SQLException {
        Seen before = lock.isOfSession() ? lock.look(connection) : null;
        if (before != null && before.held()) {
            throw new SQLException("The pool gave a session that has the lock of table " + table + " already");
        }
        Seen taken = lock.tryTake(connection);
        session = taken.session();
        if (before != null && before.session() != session) {
            throw refusal(before.session());
        }
        return taken.held();
    }

    void limitSilence(Duration term) throws SQLException {
        lock.limitSilence(connection, term);
    }

    /** Whether this session still has the lock. */
    boolean look() throws SQLException {
        return isOurs(lock.look(connection));
    }

    boolean beat() throws SQLException {
        return isOurs(lock.beat(connection));
    }

    private boolean isOurs(Seen seen) {
        if (lock.isOfSession() && (seen.session() != session || !seen.held())) {
            throw refusal(seen.session());
        }
        return seen.held();
    }

    private LeadershipRefusedException refusal(long other) {
        String what = other == session
                ? "session " + session + " took the lock and does not have it"
                : "one connection was answered by sessions " + session + " and " + other;
        return new LeadershipRefusedException(
                "Table " + table + " cannot have a single leader over this connection: " + what
                        + ", so a lock of the session proves nothing. A proxy that pools transactions is in "
                        + "between, such as PgBouncer in transaction mode,"
                        + " or the driver reconnects by itself. Connect the leader to the database directly, or "
                        + "by a pool in session mode;"
                        + " or let the nodes share the table by claims, without a leader.");
    }

    /** Releases the lock and returns the connection to its pool. */
    void release() {
        try {
            lock.unlimitSilence(connection);
            if (lock.release(connection)) {
                giveBack();
            } else {
                abort(connection, null);
            }
        } catch (SQLException | RuntimeException e) {
            abort(connection, e);
        }
    }

    /** Returns a connection without a lock to its pool. */
    void giveBack() {
        try {
            if (!autoCommit) {
                connection.setAutoCommit(false);
            }
            if (networkTimeout >= 0) {
                connection.setNetworkTimeout(Runnable::run, networkTimeout);
            }
            connection.close();
        } catch (SQLException | RuntimeException e) {
            abort(connection, e);
        }
    }

    void abandon() {
        abort(connection, null);
    }

    /**
     * Tries to release the lock before the abort. Any session of the proxy may have the lock, and those sessions
     * stay open when our connection is closed.
     */
    void abandonToProxy() {
        try {
            for (int tries = 0; tries < RELEASE_TRIES; tries++) {
                lock.unlimitSilence(connection);
                if (lock.release(connection)) {
                    break;
                }
            }
        } catch (SQLException | RuntimeException e) {
            abort(connection, e);
            return;
        }
        abort(connection, null);
    }

    static void abort(Connection connection, @Nullable Throwable why) {
        // always closes the connection, even if the abort fails, so that the pool does not leak it
        try (connection) {
            connection.abort(Runnable::run);
        } catch (SQLException | RuntimeException e) {
            if (why != null) {
                why.addSuppressed(e);
            }
        }
    }
}
