package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.internal.text.SafeLogger;
import outbox.jdbc.internal.leader.LeaderQuery;
import outbox.jdbc.internal.leader.LeaderSession;
import outbox.spi.Leadership;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import javax.sql.DataSource;

/**
 * One leader per outbox table: the node that holds a lock in the database. On PostgreSQL this is a session-level
 * advisory lock, on MySQL and MariaDB a named lock. Both need a dedicated connection. On H2 it is a lease in a
 * table. A standby holds no connection.
 *
 * <p>Leadership is a lease of one term. While a node leads, a thread checks four times per term that the session is
 * alive, and {@link #lead} checks that the session has the lock. A node that had no successful check for one term no
 * longer considers itself the leader; it measures this with its own monotonic clock. The database ends a session
 * that was silent for one term. So the lock of a frozen or disconnected process becomes free, but only after that
 * process stopped leading. If the session ends for another reason, the old leader notices it later. Therefore a node
 * that gets the lock waits for one term before it leads.
 *
 * <pre>
 *  leader   ──check──check──✖ frozen            lease over │ session ended, lock free
 *                     └──────────── term ──────────────────┘
 *  standby  ─────tries─────────────tries─────────────────────── tries, gets lock ──term──▶ leads
 * </pre>
 *
 * <p>A standby that tries once per poll interval leads at most one poll interval and two terms after the leader
 * failed. With a term of up to half the poll interval, that is within two intervals. All nodes must use the same
 * term and the same spelling of the table name.
 *
 * <p>Thread-safe.
 */
public final class JdbcLeadership implements Leadership {

    private static final Logger LOG = SafeLogger.of(JdbcLeadership.class);
    private static final Duration DEFAULT_TERM = Duration.ofMillis(500);
    private static final Duration SHORTEST_TERM = Duration.ofMillis(100);
    private static final Duration LONGEST_TERM = Duration.ofMinutes(1);
    private static final int BEATS = 4; // per term

    private final DataSource dataSource;
    private final TableName table;
    private final Duration term;
    private final long termNanos;
    private final LongSupplier nanoClock;
    // Allows one statement at a time. Callers of lead() and close() and the heartbeat thread take it.
    private final ReentrantLock io = new ReentrantLock();
    private @Nullable String database; // null until the first connection; guarded by io
    private @Nullable LeaderSession session; // has the lock; null while this node does not lead; guarded by io
    private boolean lost; // the leadership was lost, and lead() has not reported it yet; guarded by io
    private boolean troubled; // the last attempt failed and the failure was logged; guarded by io
    private @Nullable String refusal; // why a single leader is not possible; guarded by io
    private boolean closed; // guarded by io
    private volatile boolean leading; // written while io is held; any thread reads it
    // Time of the last successful check. Written while io is held; any thread reads it.
    private volatile long sureNanos;
    // Whether another node had the lock at the last attempt; true before the first one. Written while io is held;
    // any thread reads it.
    private volatile boolean othersLead = true;

    private JdbcLeadership(DataSource dataSource, TableName table, Duration term, LongSupplier nanoClock) {
        this.dataSource = Objects.requireNonNull(dataSource, "dataSource");
        this.table = table;
        this.term = term;
        this.termNanos = term.toNanos();
        this.nanoClock = nanoClock;
        if (term.compareTo(SHORTEST_TERM) < 0 || term.compareTo(LONGEST_TERM) > 0) {
            throw new IllegalArgumentException(
                    "term must be between " + SHORTEST_TERM + " and " + LONGEST_TERM + ": " + term);
        }
    }

    /** Creates a leadership with a term of 500 ms, for a poll interval of one second or more. */
    public static JdbcLeadership of(DataSource dataSource, String table) {
        return of(dataSource, table, DEFAULT_TERM);
    }

    /**
     * Creates a leadership of the table. Connects on the first {@link #lead}.
     *
     * @param table the table name as the store of the table uses it, with or without a schema; the same on all nodes
     * @param term how long a leader leads after its last successful check, 100 ms to one minute; at most half the
     *     poll interval
     */
    public static JdbcLeadership of(DataSource dataSource, String table, Duration term) {
        return of(dataSource, table, term, System::nanoTime);
    }

    static JdbcLeadership of(DataSource dataSource, String table, Duration term, LongSupplier nanoClock) {
        return new JdbcLeadership(dataSource, new TableName(table), term, nanoClock);
    }

    /**
     * Returns the current leader of the table, or empty if there is none. Does not try to become the leader.
     *
     * @param table the table name as the leaders use it
     */
    public static Optional<LeaderInfo> leaderOf(DataSource dataSource, String table) throws SQLException {
        try (Connection connection = dataSource.getConnection()) {
            String product =
                    JdbcEventStores.detect(connection.getMetaData().getURL()).name();
            return LeaderQuery.ask(connection, product, new TableName(table).value(), LeaderInfo::new);
        }
    }

    /**
     * {@inheritDoc}
     *
     * @throws LeadershipRefusedException if a single leader is not possible over this connection, for example behind
     *     a proxy that pools transactions; every later call throws it too
     */
    @Override
    public boolean lead() {
        io.lock();
        try {
            if (refusal != null) {
                throw new LeadershipRefusedException(refusal);
            }
            if (closed || lost) {
                lost = false;
                return false;
            }
            LeaderSession held = session;
            return held == null ? take() : isSure(held, held::look);
        } finally {
            io.unlock();
        }
    }

    @Override
    public boolean isLeader() {
        return leading && nanoClock.getAsLong() - sureNanos < termNanos;
    }

    @Override
    public boolean isLed() {
        return othersLead || isLeader();
    }

    /** Releases the lock. Waits for a running statement, which has a time limit. */
    @Override
    public void close() {
        leading = false;
        io.lock();
        try {
            closed = true;
            leading = false;
            LeaderSession held = session;
            session = null;
            if (held != null) {
                held.release();
                LOG.log(Level.INFO, "No longer leads table " + table + ": closed");
            }
        } finally {
            io.unlock();
        }
    }

    /** A query to the database. */
    private interface Question {
        boolean ask() throws SQLException;
    }

    private boolean take() {
        try {
            LeaderSession fresh = connect();
            if (!holding(fresh, fresh::tryTake)) {
                othersLead = true;
                fresh.giveBack();
                troubled = false;
                return false;
            }
            if (!holding(fresh, () -> awaitTermBefore(fresh))) {
                fresh.abandon();
                return false;
            }
            session = fresh;
            leading = true;
            othersLead = false;
            troubled = false;
            LOG.log(Level.INFO, "Leads table " + table);
            startHeart(fresh);
            return true;
        } catch (SQLException e) {
            othersLead = false;
            if (!troubled) {
                troubled = true;
                LOG.log(Level.WARNING, "Cannot find out who leads table " + table + "; trying again", e);
            }
            return false;
        }
    }

    private LeaderSession connect() throws SQLException {
        var connection = dataSource.getConnection();
        try {
            if (database == null) {
                database = JdbcEventStores.dialect(connection).name();
            }
        } catch (Throwable e) {
            LeaderSession.abort(connection, e);
            throw e;
        }
        return LeaderSession.on(connection, database, table.value(), term, LeadershipRefusedException::new);
    }

    /**
     * Waits for one term, because the previous leader may still lead for a term if its session or lease was ended by
     * another process. Each check renews the lock and may detect a proxy; the minimum number of checks applies to
     * slow machines too.
     */
    private boolean awaitTermBefore(LeaderSession fresh) throws SQLException {
        long taken = nanoClock.getAsLong();
        fresh.limitSilence(term);
        long asked = nanoClock.getAsLong();
        boolean ours = fresh.look();
        for (int looks = 1; ours && (looks < BEATS || asked - taken < termNanos); looks++) {
            pause();
            asked = nanoClock.getAsLong();
            ours = fresh.look();
        }
        sureNanos = asked;
        return ours;
    }

    /** Runs a query on a session that may have the lock. The session is not used again if the query fails. */
    private boolean holding(LeaderSession held, Question question) throws SQLException {
        try {
            return question.ask();
        } catch (LeadershipRefusedException e) {
            refusal = e.getMessage();
            othersLead = false;
            held.abandonToProxy();
            throw e;
        } catch (SQLException | RuntimeException | Error e) {
            held.abandon();
            throw e;
        }
    }

    /** Whether this node still leads. If it does not, or if the query fails, the session is aborted. */
    private boolean isSure(LeaderSession held, Question question) {
        long asked = nanoClock.getAsLong();
        try {
            if (holding(held, question)) {
                sureNanos = asked;
                return true;
            }
            held.abandon();
            stop("the lease ran out", null);
        } catch (SQLException e) {
            stop("its session failed", e);
        } catch (RuntimeException | Error e) {
            stop("its session failed", e);
            throw e;
        }
        return false;
    }

    private void stop(String why, @Nullable Throwable cause) {
        session = null;
        leading = false;
        LOG.log(Level.WARNING, "No longer leads table " + table + ": " + why, cause);
    }

    private void startHeart(LeaderSession held) {
        Thread heart = new Thread(() -> beat(held), "outbox-leader-" + table);
        heart.setDaemon(true);
        heart.start();
    }

    private void beat(LeaderSession held) {
        boolean alive = true;
        while (alive) {
            pause();
            alive = beatOnce(held);
        }
    }

    private boolean beatOnce(LeaderSession held) {
        io.lock();
        try {
            if (session != held) {
                return false;
            }
            lost = !isSure(held, held::beat);
            return !lost;
        } catch (RuntimeException | Error e) { // the next call of lead() returns false or throws
            lost = true;
            LOG.log(Level.ERROR, "The leader of table " + table + " failed", e);
            return false;
        } finally {
            io.unlock();
        }
    }

    private void pause() {
        boolean interrupted = Thread.interrupted(); // parkNanos would return at once if the interrupt flag were set
        LockSupport.parkNanos(termNanos / BEATS);
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
