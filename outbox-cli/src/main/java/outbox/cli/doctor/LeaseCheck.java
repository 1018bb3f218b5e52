package outbox.cli.doctor;

import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/** Finds events whose lease expired long ago and that no node claimed again: their node died, and no poller runs. */
final class LeaseCheck extends Check {

    LeaseCheck() {
        super("lease", true);
    }

    @Override
    List<Finding> look(Examination examination) throws SQLException {
        if (!examination.kind().hasClaims()) {
            return List.of();
        }
        Duration lease = examination.limits().lease();
        Instant expiry =
                examination.now().minus(lease).minus(examination.limits().stalled());
        String condition = examination.pending() + " AND locked_at < ?";
        Object bind = examination.queries().time("locked_at", expiry);
        long count = examination.queries().count(condition, bind);
        if (count == 0) {
            return List.of();
        }
        return List.of(finding(
                count + " events of " + examination.table() + " are held by claims whose lease of "
                        + lease.toSeconds() + " s is over, the oldest since "
                        + examination
                                .queries()
                                .earliest("locked_at", condition, bind)
                                .orElse(expiry) + ".",
                "Start a relay or poller for this table: it takes them again by itself. If the lease of your"
                        + " nodes is longer, say so by --lease."));
    }
}
