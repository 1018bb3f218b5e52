package outbox.internal;

import java.time.Instant;
import java.time.temporal.ChronoUnit;

/**
 * The only class that reads the wall clock of this machine. The time is used for values that people read
 * (occurredAt, ULIDs) and for stores without their own clock. Leases and due times use the database clock, see
 * {@link DatabaseClock}.
 */
public final class SystemTime {

    private SystemTime() {}

    /** Returns the current time in microseconds, the precision that every database supports. */
    public static Instant now() {
        return Instant.now().truncatedTo(ChronoUnit.MICROS);
    }
}
