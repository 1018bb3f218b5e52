package outbox.internal;

import org.jspecify.annotations.Nullable;
import outbox.spi.EventStore;
import outbox.spi.LeasingEventStore;
import outbox.spi.SafeLogger;
import outbox.spi.SettableClockEventStore;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.function.LongSupplier;

/**
 * The database's clock, read once in a while and carried on by this machine's monotonic clock. Nodes whose wall
 * clocks disagree, or jump, agree on leases and due times.
 *
 * <p>The answer to a question was given at some moment between sending it and hearing it, so the time now is known
 * within bounds. The latest is used to tell what is due: an event that was due when it was stored is due for the next
 * poll. The earliest is used to tell what has expired: a slow answer must not end a lease early. A quick answer of
 * before bounds the time better than a slow one of now. Neither bound ever goes back, unless the database's clock
 * itself does.
 *
 * <p>Each reading is compared with the one before it, carried on. If the database's clock went ahead by more than
 * clocks drift, leases that began before would all look ended. So they go on to be counted by the former time, until
 * all of them have ended or were renewed.
 *
 * <p>A clock that may be set is asked each time, and what it says is taken as it is. Thread-safe.
 */
public final class DatabaseClock {

    private static final Logger LOG = SafeLogger.of(DatabaseClock.class);
    private static final Duration MAX_AGE = Duration.ofSeconds(20);
    private static final Duration MAX_AGE_IF_SLOW = Duration.ofSeconds(1);
    private static final Duration SLOW = Duration.ofMillis(250);
    private static final Duration MAX_DISAGREEMENT = Duration.ofSeconds(1);
    private static final int MAX_DRIFT = 1000; // one second in so many

    private final EventStore store;
    private final boolean settable;
    private final LongSupplier nanoClock;
    private @Nullable Bounds known; // guarded by this
    private Instant latestTold = Instant.MIN; // guarded by this
    private Instant earliestTold = Instant.MIN; // guarded by this
    private Duration ahead = Duration.ZERO; // how far the database's clock has jumped; guarded by this
    private long jumpNanos; // when that was found out; guarded by this

    public DatabaseClock(EventStore store) {
        this(store, System::nanoTime);
    }

    DatabaseClock(EventStore store, LongSupplier nanoClock) {
        this.store = store;
        this.settable = store instanceof SettableClockEventStore;
        this.nanoClock = nanoClock;
    }

    public Instant latest(Connection connection) {
        return bringUpToDate(connection) ? latest() : SystemTime.now();
    }

    public Instant earliest(Connection connection) {
        return bringUpToDate(connection) ? earliest() : SystemTime.now();
    }

    /** Leases of the given length that began before this have ended for sure. */
    Instant ended(Connection connection, Duration lease) {
        return earliest(connection).minus(lease).minus(jumped(lease));
    }

    /** Asks the database, and returns what it says. */
    Instant ask(Connection connection) {
        return store instanceof LeasingEventStore leasing ? read(leasing, connection) : SystemTime.now();
    }

    /** The earliest that it can be now, without asking; null if that would be needed. */
    @Nullable
    Instant earliestKnown() {
        if (!(store instanceof LeasingEventStore)) {
            return SystemTime.now();
        }
        return needsReading() ? null : earliest();
    }

    /** False for a store of the specification, which takes its caller's clock. */
    private boolean bringUpToDate(Connection connection) {
        if (!(store instanceof LeasingEventStore leasing)) {
            return false;
        }
        if (needsReading()) {
            boolean first = !isKnown();
            read(leasing, connection);
            if (first && isSlow()) { // nothing was told yet, so a better answer can still be used in full
                read(leasing, connection);
            }
        }
        return true;
    }

    private synchronized boolean needsReading() {
        return settable || known == null || known.isStale(nanoClock.getAsLong());
    }

    private synchronized boolean isKnown() {
        return known != null;
    }

    private synchronized boolean isSlow() {
        return known != null && known.isWide();
    }

    private Instant read(LeasingEventStore leasing, Connection connection) {
        long asked = nanoClock.getAsLong();
        Instant answer = leasing.now(connection);
        long heard = nanoClock.getAsLong();
        accept(new Bounds(answer, answer.plusNanos(heard - asked), heard, SystemTime.now()));
        return answer;
    }

    private synchronized void accept(Bounds read) {
        Bounds before = known;
        if (settable || before == null) {
            forgetTold();
            known = read;
        } else if (read.nanos - before.nanos >= 0) { // else another thread has asked since
            known = hasJumped(before, read) ? read : before.closerWith(read);
        }
    }

    private boolean hasJumped(Bounds before, Bounds read) {
        Duration tolerance = MAX_DISAGREEMENT.plus(before.drift(read.nanos));
        Duration forward = Duration.between(before.latestAt(read.nanos), read.earliest);
        Duration back = Duration.between(read.latest, before.earliestAt(read.nanos));
        if (forward.compareTo(tolerance) > 0) {
            ahead = ahead.plus(forward);
            jumpNanos = read.nanos;
            LOG.log(
                    Level.WARNING,
                    "The database's clock went ahead by " + forward
                            + ", or this machine was suspended. Leases that began before are not taken over until"
                            + " they have ended by the former time");
            return true;
        }
        if (back.compareTo(tolerance) > 0) {
            ahead = back.compareTo(ahead) < 0 ? ahead.minus(back) : Duration.ZERO;
            forgetTold();
            LOG.log(
                    Level.WARNING,
                    "The database's clock went back by " + back
                            + ". What was due is due so much later, and leases of nodes that are gone end as much"
                            + " later");
            return true;
        }
        return false;
    }

    private void forgetTold() {
        latestTold = Instant.MIN;
        earliestTold = Instant.MIN;
    }

    private synchronized Instant latest() {
        Instant time = known().latestAt(nanoClock.getAsLong());
        latestTold = time.isAfter(latestTold) ? time : latestTold;
        return latestTold;
    }

    private synchronized Instant earliest() {
        Instant time = known().earliestAt(nanoClock.getAsLong());
        earliestTold = time.isAfter(earliestTold) ? time : earliestTold;
        return earliestTold;
    }

    private Bounds known() {
        if (known == null) {
            throw new IllegalStateException("The database's clock was not read yet");
        }
        return known;
    }

    /**
     * What to take off for leases from before a jump. Other nodes may have gone by the former time until their
     * reading was too old.
     */
    private synchronized Duration jumped(Duration lease) {
        boolean over = nanoClock.getAsLong() - jumpNanos > lease.plus(MAX_AGE).toNanos();
        return over ? Duration.ZERO : ahead;
    }

    /** Between which times the database's clock was at a moment of this machine's monotonic clock. */
    private record Bounds(Instant earliest, Instant latest, long nanos, Instant wallTime) {

        /** Also when the clocks of this machine disagree: it may have been suspended, and its monotonic clock with it. */
        boolean isStale(long now) {
            long age = now - nanos;
            Duration wallAge = Duration.between(wallTime, SystemTime.now());
            return age > (isWide() ? MAX_AGE_IF_SLOW : MAX_AGE).toNanos()
                    || wallAge.minusNanos(age).abs().compareTo(MAX_DISAGREEMENT) > 0;
        }

        boolean isWide() {
            return Duration.between(earliest, latest).compareTo(SLOW) > 0;
        }

        /** How far the clocks of this machine and the database may have drifted apart since. */
        Duration drift(long now) {
            return Duration.ofNanos((now - nanos) / MAX_DRIFT);
        }

        /** What these bounds and later ones tell together. If they disagree, the later ones are right. */
        Bounds closerWith(Bounds later) {
            Duration drift = drift(later.nanos);
            Instant from = max(later.earliest, earliestAt(later.nanos).minus(drift));
            Instant to = min(later.latest, latestAt(later.nanos).plus(drift));
            return from.isAfter(to) ? later : new Bounds(from, to, later.nanos, later.wallTime);
        }

        Instant latestAt(long now) {
            return latest.plusNanos(now - nanos).truncatedTo(ChronoUnit.MICROS);
        }

        Instant earliestAt(long now) {
            return earliest.plusNanos(now - nanos).truncatedTo(ChronoUnit.MICROS);
        }

        private static Instant max(Instant one, Instant other) {
            return one.isAfter(other) ? one : other;
        }

        private static Instant min(Instant one, Instant other) {
            return one.isBefore(other) ? one : other;
        }
    }
}
