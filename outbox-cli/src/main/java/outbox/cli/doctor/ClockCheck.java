package outbox.cli.doctor;

import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * Finds a difference between the clocks of this machine and of the database that the duration of the query cannot
 * explain.
 */
final class ClockCheck extends Check {

    ClockCheck() {
        super("clock", false);
    }

    @Override
    List<Finding> look(Examination examination) {
        examination.now(); // the first query is slow, so it is not measured
        Instant before = examination.clock().instant();
        Instant database = examination.now();
        Instant after = examination.clock().instant();
        Duration ahead = Duration.between(after, database); // how far the database is ahead, at least
        Duration behind = Duration.between(database, before);
        Duration skew = ahead.compareTo(behind) > 0 ? ahead : behind;
        if (skew.compareTo(examination.limits().skew()) <= 0) {
            return List.of();
        }
        return List.of(finding(
                "The clock of the database is " + skew.toMillis() + " ms "
                        + (skew.equals(ahead) ? "ahead of" : "behind") + " the clock of this machine.",
                "Synchronise both by NTP. Due times and leases go by the database's clock, but times that the"
                        + " application computes (availableAt, expiresAt) by its own."));
    }
}
