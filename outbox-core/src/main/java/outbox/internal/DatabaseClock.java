package outbox.internal;

import org.jspecify.annotations.Nullable;
import outbox.spi.EventStore;
import outbox.spi.LeasingEventStore;

import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/**
 * The database's clock, read once in a while and carried on by this machine's monotonic clock. Nodes whose wall clocks disagree, or jump, agree on leases and due times.
 *
 * <p>A reading counts from before the question was sent, so the carried time is never behind the database: an event that was due when it was stored is due for the next poll.
 */
final class DatabaseClock {

    private static final long MAX_AGE_NANOS = Duration.ofSeconds(20).toNanos();

    private final EventStore store;
    private volatile @Nullable Reading last; // any thread; a lost update only costs a question

    DatabaseClock(EventStore store) {
        this.store = store;
    }

    Instant now(Connection connection) {
        if (!(store instanceof LeasingEventStore leasing)) {
            return SystemTime.now(); // a store of the specification takes its caller's clock
        }
        Reading reading = last;
        if (reading == null || System.nanoTime() - reading.takenNanos > MAX_AGE_NANOS) {
            long before = System.nanoTime();
            reading = new Reading(leasing.now(connection), before);
            last = reading;
        }
        return reading.carriedOn();
    }

    private record Reading(Instant instant, long takenNanos) {

        Instant carriedOn() {
            return instant.plusNanos(System.nanoTime() - takenNanos).truncatedTo(ChronoUnit.MICROS);
        }
    }
}
