package outbox.internal;

import org.jspecify.annotations.Nullable;
import outbox.OutboxException;
import outbox.spi.ConnectionProvider;
import outbox.spi.EventStore;
import outbox.spi.LeasingEventStore;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * Runs statements of the framework, each in a transaction of its own that is committed or rolled back before the connection goes back to its pool in the state in which it came.
 *
 * <p>Whatever the pool's auto-commit is, nothing depends on it. A network time limit keeps a dead socket from holding the calling thread. A connection whose state is in doubt
 * is aborted rather than returned: turning auto-commit back on would commit what must not be committed.
 */
public final class StoreAccess {

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(5);
    private static final Duration SHORTEST_DEFAULT = Duration.ofSeconds(1);
    private static final int CONFLICT_RETRIES = 3;
    private static final Duration ROUGH = Duration.ofMillis(20);

    private final ConnectionProvider connections;
    private final EventStore store;
    private final DatabaseClock clock;
    private final Supplier<Duration> timeout;

    public StoreAccess(ConnectionProvider connections, EventStore store) {
        this(connections, store, () -> PATIENCE);
    }

    /**
     * @param timeout how long to wait for the database's answer before the connection is given up; asked for each
     * transaction
     */
    public StoreAccess(ConnectionProvider connections, EventStore store, Supplier<Duration> timeout) {
        this.timeout = timeout;
        this.connections = connections;
        this.store = store;
        this.clock = new DatabaseClock(store);
    }

    /** What to do with a connection. */
    @FunctionalInterface
    public interface Work<T> {
        T on(Connection connection) throws SQLException;
    }

    /**
     * The database's time now, to tell what is due and to start leases. Not too early; at most as much too late as
     * the database took to say it.
     */
    public Instant now(Connection connection) {
        return clock.latest(connection);
    }

    /** The earliest that the database's time can be now. */
    public Instant earliest(Connection connection) {
        return clock.earliest(connection);
    }

    /** Asks the database for its time: for what is stored to be compared with what other nodes store. */
    public Instant ask(Connection connection) {
        return clock.ask(connection);
    }

    /**
     * Leases of the given length that began before this moment have ended for sure, even if the database's clock has
     * jumped ahead meanwhile.
     */
    public Instant expiry(Connection connection, Duration lease) {
        return clock.ended(connection, lease);
    }

    /** How long it takes until the given time has come for sure; negative if it has. Asks the database again if its clock is known too roughly. */
    public Duration until(Connection connection, Instant time) {
        Duration left = Duration.between(clock.earliest(connection), time);
        if (left.compareTo(ROUGH) > 0 && time.isBefore(clock.latest(connection))) {
            clock.ask(connection);
            left = Duration.between(clock.earliest(connection), time);
        }
        return left;
    }

    /** Like the other, but without a connection: negative, that is now, if the database's clock is not known. */
    public Duration until(Instant time) {
        Instant now = clock.earliestKnown();
        return now == null ? Duration.ofNanos(-1) : Duration.between(now, time);
    }

    /** Whether the given time of the database's clock has passed for sure. */
    public boolean isPast(Instant time) {
        Instant now = clock.earliestKnown();
        return (now != null ? now : inTransaction("read the database's clock", clock::earliest)).isAfter(time);
    }

    /** Runs the work in a transaction; a conflict with another one (deadlock, serialisation) is tried again a few times. */
    public <T> T inTransaction(String what, Work<T> work) {
        for (int conflicts = 0; ; conflicts++) {
            try {
                return once(what, work);
            } catch (RuntimeException e) {
                if (conflicts == CONFLICT_RETRIES || !SqlErrors.isConflict(e)) {
                    throw e;
                }
                pauseBeforeRetry(conflicts);
            }
        }
    }

    private <T> T once(String what, Work<T> work) {
        try (Lent lent = new Lent(connections.getConnection(), timeout.get())) {
            Connection connection = lent.connection;
            if (store instanceof LeasingEventStore leasing) {
                leasing.prepare(connection);
            }
            T result = lent.run(work);
            connection.commit();
            lent.clean = true;
            return result;
        } catch (SQLException e) {
            throw new OutboxException("Cannot " + what + ": " + e.getMessage(), e);
        }
    }

    /** Jitter parts those who collided; an interrupt only shortens the pause and stays set. */
    private static void pauseBeforeRetry(int conflicts) {
        long limit = TimeUnit.MILLISECONDS.toNanos(10L << conflicts);
        LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(limit / 2, limit));
    }

    /** A connection on loan, with what must be put back. */
    private static final class Lent implements AutoCloseable {

        private final Connection connection;
        private final boolean autoCommit;
        private final int networkTimeout;
        private boolean clean; // set by once, read by close: same thread
        private boolean broken; // the same: an error of the JVM left the driver in the middle of an answer

        Lent(Connection connection, Duration timeout) throws SQLException {
            this.connection = connection;
            try {
                this.autoCommit = connection.getAutoCommit();
                this.networkTimeout = limitNetwork(connection, (int) timeout.toMillis());
                if (autoCommit) {
                    connection.setAutoCommit(false);
                }
            } catch (Throwable e) {
                closeQuietly(connection, e);
                throw e;
            }
        }

        <T> T run(Work<T> work) throws SQLException {
            try {
                return work.on(connection);
            } catch (Error e) {
                broken = true;
                throw e;
            }
        }

        @Override
        public void close() throws SQLException {
            if (broken) {
                abandon(new SQLException("The connection is abandoned after an error of the JVM"));
                return;
            }
            try {
                restore();
                connection.close();
            } catch (SQLException e) {
                abandon(e);
                if (!clean) { // after a commit, what failed is only the way back to the pool
                    throw e;
                }
            }
        }

        private void restore() throws SQLException {
            if (!clean) {
                connection.rollback();
            }
            if (autoCommit) {
                connection.setAutoCommit(true);
            }
            if (networkTimeout >= 0) {
                connection.setNetworkTimeout(Runnable::run, networkTimeout);
            }
        }

        private void abandon(SQLException cause) {
            try {
                connection.abort(Runnable::run);
            } catch (SQLException e) {
                cause.addSuppressed(e);
            }
            closeQuietly(connection, cause);
        }

        /** Answers the limit to restore, or -1 where the driver knows none. */
        private static int limitNetwork(Connection connection, int millis) throws SQLException {
            try {
                int before = connection.getNetworkTimeout();
                if (before > 0 && before <= millis) {
                    return -1;
                }
                connection.setNetworkTimeout(Runnable::run, millis);
                return before;
            } catch (SQLFeatureNotSupportedException | AbstractMethodError e) {
                return -1;
            }
        }

        private static void closeQuietly(Connection connection, Throwable cause) {
            try {
                connection.close();
            } catch (SQLException e) {
                cause.addSuppressed(e);
            }
        }
    }

    /**
     * Refuses a time limit that is too long for the lease: what is given up must be done again while the event is
     * ours.
     */
    public static void requireWithin(Duration databaseTimeout, Duration lease, String leaseName) {
        if (databaseTimeout.compareTo(lease.dividedBy(2)) > 0) {
            throw new IllegalArgumentException("databaseTimeout must be at most half of " + leaseName + ", which is "
                    + lease + ": " + databaseTimeout);
        }
    }

    /**
     * How long to wait for the database's answer under such a lease: as long as was set, else 5 s, and not longer than
     * half the lease if that is more than a second.
     */
    public static Duration timeoutWithin(Duration lease, @Nullable Duration databaseTimeout) {
        Duration wanted = databaseTimeout == null ? DEFAULT_TIMEOUT : databaseTimeout;
        Duration half = lease.dividedBy(2);
        Duration longest = half.compareTo(SHORTEST_DEFAULT) < 0 ? SHORTEST_DEFAULT : half;
        return wanted.compareTo(longest) < 0 ? wanted : longest;
    }

    /**
     * How long a database call of the framework may take before its connection is given up, where nothing else was
     * set.
     */
    public static Duration patience() {
        return PATIENCE;
    }
}
