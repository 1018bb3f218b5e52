package outbox.cli.doctor;

import outbox.admin.EventPauses;
import outbox.admin.Pause;
import outbox.model.EventStatus;

import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** Finds events that have been due for long while no node holds a claim: no relay runs, or it is paused. */
final class RelayCheck extends Check {

    RelayCheck() {
        super("relay", true);
    }

    @Override
    List<Finding> look(Examination examination) throws SQLException {
        Instant now = examination.now();
        Instant late = now.minus(examination.limits().stalled());
        Optional<Instant> oldest = oldest(examination, now, late);
        if (oldest.isEmpty()) {
            return List.of();
        }
        Optional<Instant> mark = lastMark(examination, now);
        String since = "An event of " + examination.table() + " is due for "
                + Duration.between(oldest.get(), now).toSeconds() + " s";
        String marked = mark.map(time -> ", and none was marked as delivered since " + time)
                .orElse(", and the table has no delivered event");
        if (isHeld(examination, now)) {
            Instant longAgo = late.minus(examination.limits().lease());
            return mark
                    .filter(time -> time.isBefore(longAgo))
                    .map(time -> finding(
                            since + marked + ", though a relay holds events: deliveries hang, or their marks fail.",
                            "Look at the log and the health of the relay, at its consumer, and at what the"
                                    + " checks privilege, trigger and blocker say."))
                    .stream()
                    .toList();
        }
        if (mark.filter(time -> time.isAfter(late)).isPresent()) {
            return List.of(); // the relay works but is behind, which is another problem
        }
        return List.of(nobody(examination, since + marked + ". Nobody holds or delivers any event"));
    }

    private Finding nobody(Examination examination, String seen) throws SQLException {
        Optional<Pause> pause = pause(examination);
        if (pause.isPresent()) {
            return finding(
                    seen + ": the outbox is paused since " + pause.get().since() + " by "
                            + pause.get().by() + " (" + Quoted.shown(pause.get().reason(), 100) + ").",
                    "Resume it by outbox resume, if the reason is gone.");
        }
        if (!PrivilegeCheck.may(examination, examination.table(), "UPDATE")) {
            String user = PrivilegeCheck.user(examination);
            return finding(
                    seen + ". User " + user
                            + " may not UPDATE the table: a relay that connects as this user can take no" + " event.",
                    "Grant it if the relay is this user; else examine with the user of the relay.",
                    "GRANT SELECT, UPDATE, DELETE ON " + examination.table() + " TO " + user + ";");
        }
        List<String> powerless = powerless(examination);
        return finding(
                seen + ": no relay runs, it cannot reach the database, or its circuit breaker is open"
                        + (powerless.isEmpty()
                                ? "."
                                : ", or it is one of these users, who are connected and may not UPDATE the table: "
                                        + String.join(", ", powerless) + "."),
                "Start outbox relay with this table, or the poller of the application. If it runs, see its health and"
                        + " log.");
    }

    /** Users who are connected to this PostgreSQL server and may not claim events. Binds: table, twice. */
    private static List<String> powerless(Examination examination) throws SQLException {
        if (!examination.isPostgres()) {
            return List.of();
        }
        String sql = """
                SELECT DISTINCT usename
                  FROM pg_stat_activity
                 WHERE datname = current_database()
                   AND backend_type = 'client backend'
                   AND usename IS NOT NULL
                   AND NOT has_table_privilege(usename, to_regclass(?)::oid, 'UPDATE')
                   AND NOT has_any_column_privilege(usename, to_regclass(?)::oid, 'UPDATE')
                 ORDER BY 1
                 LIMIT 5
                """;
        return examination.queries().rows(sql, examination.table(), examination.table()).stream()
                .map(row -> String.valueOf(row.get(0)))
                .toList();
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
        // An event without a due time is due from its creation.
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

    /**
     * When an event was last marked as delivered; empty if there is none, for example if delivered events are deleted
     * at once.
     */
    private static Optional<Instant> lastMark(Examination examination, Instant now) throws SQLException {
        TableKind kind = examination.kind();
        String done = kind.is(EventStatus.DONE, examination.subject().maxAttempts());
        Object tomorrow = examination.queries().time(kind.end(), now.plus(Duration.ofDays(1)));
        return examination.queries().latest(kind.end(), done + " AND " + kind.end() + " < ?", tomorrow);
    }

    private static Optional<Pause> pause(Examination examination) {
        return examination
                .subject()
                .store()
                .capability(EventPauses.class)
                .filter(store -> store.hasPauses(examination.connection()))
                .flatMap(store -> store.pauses(examination.connection()).stream()
                        .filter(pause -> pause.scope() == Pause.Scope.OUTBOX)
                        .findFirst());
    }
}
