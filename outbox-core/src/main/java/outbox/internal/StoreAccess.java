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
 * Runs statements of the framework. Each call has its own transaction, which is committed or rolled back before the
 * connection is returned to its pool in its original state.
 *
 * <p>The auto-commit setting of the pool does not matter. A network timeout prevents a dead socket from blocking the
 * calling thread. If the state of a connection is uncertain, it is aborted instead of returned: enabling auto-commit
 * again would commit work that must not be committed.
 */
public final class StoreAccess {

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(5);
    private static final Duration SHORTEST_DEFAULT = Duration.ofSeconds(1);
    private static final int CONFLICT_RETRIES = 3;
    private static final Duration ROUGH = Duration.ofMillis(20);

    private final ConnectionProvider connections;
    private final @Nullable LeasingEventStore leasing; // null if the store does not support claims
    private final DatabaseClock clock;
    private final Supplier<Duration> timeout;

    public StoreAccess(ConnectionProvider connections, EventStore store) {
        this(connections, store, () -> PATIENCE);
    }

    /**
     * Creates an access to a store.
     *
     * @param timeout how long to wait for a response of the database before the connection is aborted; called for
     * each transaction
     */
    public StoreAccess(ConnectionProvider connections, EventStore store, Supplier<Duration> timeout) {
        this.timeout = timeout;
        this.connections = connections;
        this.leasing = store.capability(LeasingEventStore.class).orElse(null);
        this.clock = new DatabaseClock(store);
    }

    /** Work that uses a connection. */
    @FunctionalInterface
    public interface Work<T> {
        T on(Connection connection) throws SQLException;
    }

    /**
     * Returns the current database time, to decide what is due and to start leases. It is never too early, and too
     * late by at most the response time of the database.
     */
    public Instant now(Connection connection) {
        return clock.latest(connection);
    }

    /** Returns the lower bound of the current database time. */
    public Instant earliest(Connection connection) {
        return clock.earliest(connection);
    }

    /** Reads the database clock. Use it for times that are stored and compared with times of other nodes. */
    public Instant ask(Connection connection) {
        return clock.ask(connection);
    }

    /**
     * Returns a time for which the following holds: a lease of the given length that began earlier has certainly
     * expired, even if the database clock has jumped forward meanwhile.
     */
    public Instant expiry(Connection connection, Duration lease) {
        return clock.ended(connection, lease);
    }

    /**
     * Returns how long it takes until the given time has certainly come; negative if it has. Reads the database
     * clock again if its bounds are too wide.
     */
    public Duration until(Connection connection, Instant time) {
        Duration left = Duration.between(clock.earliest(connection), time);
        if (left.compareTo(ROUGH) > 0 && time.isBefore(clock.latest(connection))) {
            clock.ask(connection);
            left = Duration.between(clock.earliest(connection), time);
        }
        return left;
    }

    /**
     * Like {@link #until(Connection, Instant)}, but without a connection. Returns a negative value, that is now, if
     * the database time is not known.
     */
    public Duration until(Instant time) {
        Instant now = clock.earliestKnown();
        return now == null ? Duration.ofNanos(-1) : Duration.between(now, time);
    }

    /** Whether the given time of the database clock has certainly passed. */
    public boolean isPast(Instant time) {
        Instant now = clock.earliestKnown();
        return (now != null ? now : inTransaction("read the database's clock", clock::earliest)).isAfter(time);
    }

    /**
     * Runs the work in a transaction. After a conflict with another transaction (deadlock, serialization failure),
     * it is retried a few times.
     */
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
            if (leasing != null) {
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

    /**
     * Waits with jitter, so that conflicting transactions do not collide again. An interrupt only shortens the wait
     * and stays set.
     */
    private static void pauseBeforeRetry(int conflicts) {
        long limit = TimeUnit.MILLISECONDS.toNanos(10L << conflicts);
        LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(limit / 2, limit));
    }

    /** A connection from the pool and the settings to restore. */
    private static final class Lent implements AutoCloseable {

        private final Connection connection;
        private final boolean autoCommit;
        private final int networkTimeout;
        private boolean clean; // written by once, read by close; same thread
        private boolean broken; // an Error left the driver in the middle of a response; same thread

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
                if (!clean) { // after a commit, only the return to the pool failed
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

        /** Returns the timeout to restore, or -1 if the driver does not support it or it was not changed. */
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
     * Rejects a timeout that is too long for the lease. After a timeout, the operation must be repeated while the
     * lease is still valid.
     */
    public static void requireWithin(Duration databaseTimeout, Duration lease, String leaseName) {
        if (databaseTimeout.compareTo(lease.dividedBy(2)) > 0) {
            throw new IllegalArgumentException("databaseTimeout must be at most half of " + leaseName + ", which is "
                    + lease + ": " + databaseTimeout);
        }
    }

    /**
     * Returns how long to wait for a response of the database under such a lease: the configured timeout, or 5 s. It
     * is limited to half the lease, but the limit is at least one second.
     */
    public static Duration timeoutWithin(Duration lease, @Nullable Duration databaseTimeout) {
        Duration wanted = databaseTimeout == null ? DEFAULT_TIMEOUT : databaseTimeout;
        Duration half = lease.dividedBy(2);
        Duration longest = half.compareTo(SHORTEST_DEFAULT) < 0 ? SHORTEST_DEFAULT : half;
        return wanted.compareTo(longest) < 0 ? wanted : longest;
    }

    /** Returns the default time limit for a database call of the framework. */
    public static Duration patience() {
        return PATIENCE;
    }
}
