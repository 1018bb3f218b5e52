package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.spi.Leadership;
import outbox.spi.SafeLogger;

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
 * One leader per outbox table: the node that has a lock in the database. On PostgreSQL that is a session-level advisory lock, on MySQL and MariaDB a named lock, both on a connection
 * that is held for it; on H2 a lease in a table. A standby holds no connection.
 *
 * <p>While it leads, a thread makes sure four times per term that the session is alive, and {@link #lead} that it has the lock. Who could not make sure for a term is no leader, by
 * this machine's monotonic clock; the database ends a session that has been silent for a term, so the lock of a process that is frozen or cut off becomes free, and not before that
 * process has stopped to believe in it. If the session ends in another way, the one that had the lock learns it a little later: so who gets a lock waits for a term before it leads.
 *
 * <pre>
 *  leader   ──sure──sure──sure─✖ frozen        believes no longer │ session ended, lock free
 *                             └──────────── term ────────────────┘
 *  standby  ─────tries─────────────tries─────────────────────────── tries, has it ──term──▶ leads
 * </pre>
 *
 * <p>A standby that tries each poll interval leads at most a poll interval and two terms after the leader failed: with a term of up to half the poll interval, within two intervals.
 * Give all nodes the same term, and name the table in the same way.
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
    private final ReentrantLock io = new ReentrantLock(); // one statement at a time; guards what is not volatile
    private @Nullable String database; // once known
    private @Nullable LeaderSession session; // while it has the lock
    private boolean lost; // and nobody was told yet
    private boolean troubled; // the last try failed, and that was logged
    private @Nullable String refusal;
    private boolean closed;
    private volatile boolean leading; // written under the lock, as the next
    private volatile long sureNanos; // when it was last found out that this node leads
    private volatile boolean othersLead =
            true; // another one had the lock at the last try; it is taken for granted before the first

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

    /** Leadership with a term of 500 ms, for a poll interval of a second or more. */
    public static JdbcLeadership of(DataSource dataSource, String table) {
        return of(dataSource, table, DEFAULT_TERM);
    }

    /**
     * Leadership of the table. Connects with the first {@link #lead}.
     *
     * @param table as the store of the table names it, with or without a schema, on all nodes alike
     * @param term how long a leader is sure after it last heard of the database, 100 ms to a minute; at most half the poll interval
     */
    public static JdbcLeadership of(DataSource dataSource, String table, Duration term) {
        return of(dataSource, table, term, System::nanoTime);
    }

    static JdbcLeadership of(DataSource dataSource, String table, Duration term, LongSupplier nanoClock) {
        return new JdbcLeadership(dataSource, new TableName(table), term, nanoClock);
    }

    /**
     * Who leads the table now, asked without taking part; empty if nobody does.
     *
     * @param table as the leaders name it
     */
    public static Optional<LeaderInfo> leaderOf(DataSource dataSource, String table) throws SQLException {
        try (Connection connection = dataSource.getConnection()) {
            String product =
                    JdbcEventStores.detect(connection.getMetaData().getURL()).name();
            return LeaderQuery.ask(connection, product, new TableName(table));
        }
    }

    /**
     * {@inheritDoc}
     *
     * @throws LeadershipRefusedException if there can be no leader over this connection, such as behind a proxy that pools transactions; from then on at each call
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

    /** Frees the lock. Waits for a statement under way, whose time is limited. */
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

    /** A question to the database. */
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
                database = JdbcEventStores.detect(connection).name();
            }
        } catch (Throwable e) {
            LeaderSession.abort(connection, e);
            throw e;
        }
        return LeaderSession.on(connection, database, table, term);
    }

    /**
     * The leader before may be sure of itself for a term after its session, or its lease, was ended by another. Each
     * look meanwhile keeps the lock and may find a proxy, so a slow machine looks as often as a quick one.
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

    /** Runs a question on a session that may have the lock; one that fails is not used again. */
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

    /** Whether this node still leads; if not, or if that cannot be found out, the session is given up. */
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
        } catch (RuntimeException | Error e) { // lead throws it
            lost = true;
            LOG.log(Level.ERROR, "The leader of table " + table + " failed", e);
            return false;
        } finally {
            io.unlock();
        }
    }

    private void pause() {
        boolean interrupted = Thread.interrupted(); // else it would not wait
        LockSupport.parkNanos(termNanos / BEATS);
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
