package outbox.cli.doctor;

import outbox.admin.Pause;
import outbox.admin.PauseScope;

import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** Events are due for long and nobody holds any: no relay runs, or it is paused. */
final class RelayCheck implements Check {

    @Override
    public String name() {
        return "relay";
    }

    @Override
    public List<Finding> look(Examination examination) throws SQLException {
        Queries queries = examination.queries();
        Instant now = examination.now();
        String pending = examination.columns().pending();
        Instant late = now.minus(examination.limits().stalled());
        String due = pending + " AND available_at <= ? AND (locked_at IS NULL OR locked_at < ?)";
        Object expiry = queries.time("locked_at", now.minus(examination.limits().lease()));
        Optional<Instant> oldest = queries.earliest("available_at", due, queries.time("available_at", late), expiry);
        if (oldest.isEmpty()
                || queries.count(pending + " AND locked_at >= ?", expiry) > 0
                || delivers(examination, late)) {
            return List.of();
        }
        String since =
                "An event is due for " + Duration.between(oldest.get(), now).toSeconds() + " s, and nobody holds or"
                        + " delivers any event of " + examination.table();
        Optional<Pause> pause = pause(examination);
        if (pause.isPresent()) {
            return List.of(finding(
                    since + ": the outbox is paused since " + pause.get().since() + " by "
                            + pause.get().by() + " (" + pause.get().reason() + ").",
                    "Resume it by OutboxAdmin.resume, if the reason is gone."));
        }
        return List.of(finding(
                since + ": no relay runs, or it cannot reach the database.",
                "Start one: outbox relay --tables " + examination.table()
                        + ", or the poller of the application; see its log for what it says about the database."));
    }

    /** A busy relay may be behind, which is not the same. */
    private static boolean delivers(Examination examination, Instant late) throws SQLException {
        return examination
                        .queries()
                        .count(
                                "status IN (1, 3) AND done_at > ?",
                                examination.queries().time("done_at", late))
                > 0;
    }

    private static Optional<Pause> pause(Examination examination) {
        return examination.store().hasPauses(examination.connection())
                ? examination.store().pauses(examination.connection()).stream()
                        .filter(pause -> pause.scope() == PauseScope.OUTBOX)
                        .findFirst()
                : Optional.empty();
    }
}
