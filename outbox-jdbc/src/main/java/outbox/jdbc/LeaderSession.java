package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.jdbc.LeaderLock.Seen;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.time.Duration;

/**
 * A connection that is held for the lock of a leader. It goes back to its pool as it came and without the lock, or not at all: where that is in doubt it is aborted, and the database
 * frees what it had.
 *
 * <p>Used by one thread at a time.
 */
final class LeaderSession {

    private static final Duration SHORTEST_NETWORK_LIMIT = Duration.ofSeconds(1);
    private static final int RELEASE_TRIES = 20; // of a proxy's sessions, any of which may have it

    private final Connection connection;
    private final LeaderLock lock;
    private final TableName table;
    private final boolean autoCommit;
    private final int networkTimeout; // to restore; -1 where the driver knows none
    private long session; // which has the lock

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

    /** A peer that is gone must not hold the thread that asks: the lock is as good as lost then. */
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

    /** Takes the lock if nobody has it. One that the connection has already is not ours: it would have to be freed twice. */
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

    /** Whether the lock is still ours. */
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
                        + ", so a lock of the session proves nothing. A proxy that pools transactions is in between, such as PgBouncer in transaction mode,"
                        + " or the driver reconnects by itself. Connect the leader to the database directly, or by a pool in session mode;"
                        + " or let the nodes share the table by claims, without a leader.");
    }

    /** Frees the lock and gives the connection back. */
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

    /** Gives back a connection that has no lock. */
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

    /** The lock may be with any session of a proxy, which outlives our connection. */
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
        try (connection) { // closed whatever becomes of the abort: a pool must not lose it
            connection.abort(Runnable::run);
        } catch (SQLException | RuntimeException e) {
            if (why != null) {
                why.addSuppressed(e);
            }
        }
    }
}
