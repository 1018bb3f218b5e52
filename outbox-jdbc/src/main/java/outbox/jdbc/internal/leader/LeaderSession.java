package outbox.jdbc.internal.leader;

import org.jspecify.annotations.Nullable;
import outbox.jdbc.internal.leader.LeaderLock.Seen;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.time.Duration;
import java.util.function.Function;

/**
 * A dedicated connection for the lock of a leader. It is returned to its pool in its original state and without the
 * lock. If that is not certain, it is aborted, and the database releases the lock.
 *
 * <p>Used by one thread at a time.
 */
public final class LeaderSession {

    /** The table of leases, for a database without a lock that ends with the session. */
    public static final String LEASES = "outbox_leader";

    private static final Duration SHORTEST_NETWORK_LIMIT = Duration.ofSeconds(1);
    private static final int RELEASE_TRIES = 20; // any of the proxy's sessions may have the lock

    private final Connection connection;
    private final LeaderLock lock;
    private final String table;
    private final Function<String, RuntimeException> refused;
    private final boolean autoCommit;
    private final int networkTimeout; // the original value, to restore it; -1 if the driver does not support it
    private long session; // the session that has the lock

    private LeaderSession(
            Connection connection,
            LeaderLock lock,
            String table,
            Function<String, RuntimeException> refused,
            boolean autoCommit,
            int networkTimeout) {
        this.connection = connection;
        this.lock = lock;
        this.table = table;
        this.refused = refused;
        this.autoCommit = autoCommit;
        this.networkTimeout = networkTimeout;
    }

    /**
     * Prepares a connection for the lock of a table.
     *
     * @param refused makes the exception for a connection over which no single leader is possible
     */
    public static LeaderSession on(
            Connection connection,
            String database,
            String table,
            Duration term,
            Function<String, RuntimeException> refused)
            throws SQLException {
        try {
            boolean autoCommit = connection.getAutoCommit();
            int networkTimeout = limitNetwork(connection, term);
            if (!autoCommit) {
                connection.setAutoCommit(true);
            }
            LeaderLock lock = lockOf(database, connection, table, term, refused);
            return new LeaderSession(connection, lock, table, refused, autoCommit, networkTimeout);
        } catch (Throwable e) {
            abort(connection, e);
            throw e;
        }
    }

    private static LeaderLock lockOf(
            String database,
            Connection connection,
            String table,
            Duration term,
            Function<String, RuntimeException> refused)
            throws SQLException {
        return switch (database) {
            case "postgresql" -> new PostgresLeaderLock(table);
            case "mysql" -> new MySqlLeaderLock(table, connection);
            case "h2" -> new H2LeaderLock(table, term);
            default ->
                throw refused.apply("No leader can be had for table " + table + " of a database of type " + database
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
    public boolean tryTake() throws SQLException {
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

    public void limitSilence(Duration term) throws SQLException {
        lock.limitSilence(connection, term);
    }

    /** Whether the database session still has the lock. */
    public boolean look() throws SQLException {
        return isOurs(lock.look(connection));
    }

    public boolean beat() throws SQLException {
        return isOurs(lock.beat(connection));
    }

    private boolean isOurs(Seen seen) {
        if (lock.isOfSession() && (seen.session() != session || !seen.held())) {
            throw refusal(seen.session());
        }
        return seen.held();
    }

    private RuntimeException refusal(long other) {
        String what = other == session
                ? "session " + session + " took the lock and does not have it"
                : "one connection was answered by sessions " + session + " and " + other;
        return refused.apply("Table " + table + " cannot have a single leader over this connection: " + what
                + ", so a lock of the session proves nothing. A proxy that pools transactions is in "
                + "between, such as PgBouncer in transaction mode,"
                + " or the driver reconnects by itself. Connect the leader to the database directly, or "
                + "by a pool in session mode;"
                + " or let the nodes share the table by claims, without a leader.");
    }

    /** Releases the lock and returns the connection to its pool. */
    public void release() {
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
    public void giveBack() {
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

    public void abandon() {
        abort(connection, null);
    }

    /**
     * Tries to release the lock before the abort. Any session of the proxy may have the lock, and those sessions
     * stay open when our connection is closed.
     */
    public void abandonToProxy() {
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

    public static void abort(Connection connection, @Nullable Throwable why) {
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
