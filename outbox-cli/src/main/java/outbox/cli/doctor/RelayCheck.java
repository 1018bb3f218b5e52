package outbox.cli.doctor;

import outbox.admin.Pause;
import outbox.admin.PauseScope;
import outbox.spi.WithholdingEventStore;

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
        Instant now = examination.now();
        Instant late = now.minus(examination.limits().stalled());
        Optional<Instant> oldest = oldest(examination, now, late);
        if (oldest.isEmpty() || isHeld(examination, now) || delivers(examination, late)) {
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

    private static Optional<Instant> oldest(Examination examination, Instant now, Instant late) throws SQLException {
        Queries queries = examination.queries();
        TableKind kind = examination.kind();
        String due = examination.pending() + " AND " + examination.due();
        Object bind = queries.time(kind.due(), late);
        if (kind.hasClaims()) {
            Object expiry =
                    queries.time("locked_at", now.minus(examination.limits().lease()));
            return queries.earliest(kind.due(), due + " AND (locked_at IS NULL OR locked_at < ?)", bind, expiry);
        }
        // What has no due time is due since it was written.
        return queries.earliest(
                kind.created(), due + " AND " + kind.created() + " <= ?", bind, queries.time(kind.created(), late));
    }

    private static boolean isHeld(Examination examination, Instant now) throws SQLException {
        if (!examination.kind().hasClaims()) {
            return false;
        }
        Queries queries = examination.queries();
        Object expiry = queries.time("locked_at", now.minus(examination.limits().lease()));
        return queries.count(examination.pending() + " AND locked_at >= ?", expiry) > 0;
    }

    /** A busy relay may be behind, which is not the same. */
    private static boolean delivers(Examination examination, Instant late) throws SQLException {
        String end = examination.kind().end();
        return examination.queries().count(end + " > ?", examination.queries().time(end, late)) > 0;
    }

    private static Optional<Pause> pause(Examination examination) {
        return examination.subject().store() instanceof WithholdingEventStore store
                        && store.hasPauses(examination.connection())
                ? store.pauses(examination.connection()).stream()
                        .filter(pause -> pause.scope() == PauseScope.OUTBOX)
                        .findFirst()
                : Optional.empty();
    }
}
