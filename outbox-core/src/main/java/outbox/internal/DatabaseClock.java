package outbox.internal;

import org.jspecify.annotations.Nullable;
import outbox.internal.text.SafeLogger;
import outbox.spi.EventStore;
import outbox.spi.LeasingEventStore;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.function.LongSupplier;

/**
 * The clock of the database. It is read from time to time and advanced with the monotonic clock of this machine.
 * Nodes whose wall clocks differ or jump therefore agree on leases and due times.
 *
 * <p>The database reads its clock at some moment between the request and the response, so the current time is known
 * only within bounds. The upper bound decides what is due: an event that was due when it was stored is due for the
 * next poll. The lower bound decides what has expired: a slow response must not end a lease early. An earlier fast
 * reading can give tighter bounds than a slow reading now. Neither bound ever goes back, unless the database clock
 * itself does.
 *
 * <p>Each reading is compared with the previous reading, advanced to the same moment. If the database clock jumped
 * forward by more than clocks drift, all leases that began before the jump would appear to have expired. These
 * leases are therefore measured by the time before the jump until all of them have expired or were renewed.
 *
 * <p>A settable clock is read on each call, and its value is used unchanged. Thread-safe.
 */
public final class DatabaseClock {

    private static final Logger LOG = SafeLogger.of(DatabaseClock.class);
    private static final Duration MAX_AGE = Duration.ofSeconds(20);
    private static final Duration MAX_AGE_IF_SLOW = Duration.ofSeconds(1);
    private static final Duration SLOW = Duration.ofMillis(250);
    private static final Duration MAX_DISAGREEMENT = Duration.ofSeconds(1);
    private static final int MAX_DRIFT = 1000; // one second of drift per 1000 seconds

    private final @Nullable LeasingEventStore leasing; // null for a store that uses the clock of its caller
    private final boolean settable;
    private final LongSupplier nanoClock;
    private @Nullable Bounds known; // guarded by this
    private Instant latestTold = Instant.MIN; // guarded by this
    private Instant earliestTold = Instant.MIN; // guarded by this
    private Duration ahead = Duration.ZERO; // forward jump of the database clock; guarded by this
    private long jumpNanos; // when the jump was detected; guarded by this

    public DatabaseClock(EventStore store) {
        this(store, System::nanoTime);
    }

    DatabaseClock(EventStore store, LongSupplier nanoClock) {
        this.leasing = store.capability(LeasingEventStore.class).orElse(null);
        this.settable = leasing != null && leasing.isClockSettable();
        this.nanoClock = nanoClock;
    }

    public Instant latest(Connection connection) {
        return bringUpToDate(connection) ? latest() : SystemTime.now();
    }

    public Instant earliest(Connection connection) {
        return bringUpToDate(connection) ? earliest() : SystemTime.now();
    }

    /**
     * Returns a time for which the following holds: a lease of the given length that began earlier has
     * certainly expired.
     */
    Instant ended(Connection connection, Duration lease) {
        return earliest(connection).minus(lease).minus(jumped(lease));
    }

    /** Reads the clock of the database. */
    Instant ask(Connection connection) {
        return leasing == null ? SystemTime.now() : read(leasing, connection);
    }

    /** Returns the lower bound of the current time without a database call; null if a call would be necessary. */
    @Nullable
    Instant earliestKnown() {
        if (leasing == null) {
            return SystemTime.now();
        }
        return needsReading() ? null : earliest();
    }

    /** Returns false for a plain store of the specification, which uses the clock of its caller. */
    private boolean bringUpToDate(Connection connection) {
        if (leasing == null) {
            return false;
        }
        if (needsReading()) {
            boolean first = !isKnown();
            read(leasing, connection);
            if (first && isSlow()) { // no bound was returned yet, so a better reading can still be used fully
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

    private Instant read(LeasingEventStore store, Connection connection) {
        long asked = nanoClock.getAsLong();
        Instant answer = store.now(connection);
        long heard = nanoClock.getAsLong();
        accept(new Bounds(answer, answer.plusNanos(heard - asked), heard, SystemTime.now()));
        return answer;
    }

    private synchronized void accept(Bounds read) {
        Bounds before = known;
        if (settable || before == null) {
            forgetTold();
            known = read;
        } else if (read.nanos - before.nanos >= 0) { // otherwise another thread has read it since
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
     * Returns how much to subtract for leases from before a jump. Other nodes may have used the time before the jump
     * until their reading was too old.
     */
    private synchronized Duration jumped(Duration lease) {
        boolean over = nanoClock.getAsLong() - jumpNanos > lease.plus(MAX_AGE).toNanos();
        return over ? Duration.ZERO : ahead;
    }

    /** The bounds of the database clock at one moment of this machine's monotonic clock. */
    private record Bounds(Instant earliest, Instant latest, long nanos, Instant wallTime) {

        /**
         * Whether the reading is too old. Also true if the wall clock and the monotonic clock of this machine
         * disagree: the machine, and with it the monotonic clock, may have been suspended.
         */
        boolean isStale(long now) {
            long age = now - nanos;
            Duration wallAge = Duration.between(wallTime, SystemTime.now());
            return age > (isWide() ? MAX_AGE_IF_SLOW : MAX_AGE).toNanos()
                    || wallAge.minusNanos(age).abs().compareTo(MAX_DISAGREEMENT) > 0;
        }

        boolean isWide() {
            return Duration.between(earliest, latest).compareTo(SLOW) > 0;
        }

        /** Returns how far the clocks of this machine and the database may have drifted apart since the reading. */
        Duration drift(long now) {
            return Duration.ofNanos((now - nanos) / MAX_DRIFT);
        }

        /** Combines these bounds with later ones. If they contradict each other, the later bounds are used. */
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
