package outbox.internal;

import org.jspecify.annotations.Nullable;
import outbox.spi.EventStore;
import outbox.spi.LeasingEventStore;
import outbox.spi.SettableClockEventStore;

import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/**
 * The database's clock, read once in a while and carried on by this machine's monotonic clock. Nodes whose wall clocks disagree, or jump, agree on leases and due times.
 *
 * <p>The answer to a question was given at some moment between sending it and hearing it, so the time now is known within bounds. The latest is used to tell what is due: an event
 * that was due when it was stored is due for the next poll. The earliest is used to tell what has expired: a slow answer must not end a lease early.
 *
 * <p>A clock that may be set is asked each time.
 */
public final class DatabaseClock {

    private static final long MAX_AGE_NANOS = Duration.ofSeconds(20).toNanos();

    private static final Duration MAX_DISAGREEMENT = Duration.ofSeconds(1);

    private final EventStore store;
    private volatile @Nullable Reading last; // any thread; a lost update only costs a question

    public DatabaseClock(EventStore store) {
        this.store = store;
    }

    public Instant latest(Connection connection) {
        Reading reading = reading(connection);
        return reading == null ? SystemTime.now() : reading.carriedOnFrom(reading.askedNanos);
    }

    public Instant earliest(Connection connection) {
        Reading reading = reading(connection);
        return reading == null ? SystemTime.now() : reading.carriedOnFrom(reading.heardNanos);
    }

    /** The earliest that it can be now, without asking; null if that would be needed. */
    @Nullable
    Instant earliestKnown() {
        if (!(store instanceof LeasingEventStore)) {
            return SystemTime.now();
        }
        Reading reading = last;
        return reading == null || isStale(reading) ? null : reading.carriedOnFrom(reading.heardNanos);
    }

    /** Asks again, for closer bounds than a slow answer has left. */
    void refresh(Connection connection) {
        if (store instanceof LeasingEventStore leasing) {
            read(leasing, connection);
        }
    }

    /** Null for a store of the specification, which takes its caller's clock. */
    private @Nullable Reading reading(Connection connection) {
        if (!(store instanceof LeasingEventStore leasing)) {
            return null;
        }
        Reading reading = last;
        if (reading == null || isStale(reading)) {
            reading = read(leasing, connection);
        }
        return reading;
    }

    private boolean isStale(Reading reading) {
        return store instanceof SettableClockEventStore || reading.isStale();
    }

    private Reading read(LeasingEventStore leasing, Connection connection) {
        long asked = System.nanoTime();
        Instant answer = leasing.now(connection);
        Reading reading = new Reading(answer, asked, System.nanoTime(), SystemTime.now());
        last = reading;
        return reading;
    }

    private record Reading(Instant answer, long askedNanos, long heardNanos, Instant wallTime) {

        /** Also when the clocks of this machine disagree: it may have been suspended, and its monotonic clock with it. */
        boolean isStale() {
            long age = System.nanoTime() - askedNanos;
            Duration wallAge = Duration.between(wallTime, SystemTime.now());
            return age > MAX_AGE_NANOS || wallAge.minusNanos(age).abs().compareTo(MAX_DISAGREEMENT) > 0;
        }

        Instant carriedOnFrom(long nanos) {
            return answer.plusNanos(System.nanoTime() - nanos).truncatedTo(ChronoUnit.MICROS);
        }
    }
}
