package outbox.internal;

import java.time.Instant;
import java.time.temporal.ChronoUnit;

/**
 * The only reader of this machine's wall clock. It stamps what a human reads (occurredAt, ULIDs) and serves stores without a clock of their own; leases and due times are
 * decided by the database's clock, see {@link DatabaseClock}.
 */
public final class SystemTime {

    private SystemTime() {}

    /** Now in microseconds, the precision that every database keeps. */
    public static Instant now() {
        return Instant.now().truncatedTo(ChronoUnit.MICROS);
    }
}
