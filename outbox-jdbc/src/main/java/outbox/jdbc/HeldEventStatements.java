package outbox.jdbc;

import outbox.model.EventStatus;
import outbox.spi.ErrorText;
import outbox.spi.Mark;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** The statements on events that a claim holds. Each names the token of its claim: whoever lost the event changes nothing. */
final class HeldEventStatements {

    private final JdbcTable store;

    HeldEventStatements(JdbcTable store) {
        this.store = store;
    }

    boolean recordRun(Connection conn, String token, String eventId) {
        // Binds: event_id, token.
        String sql = """
                UPDATE %s
                   SET attempts = attempts + 1
                 WHERE event_id = ?
                   AND locked_by = ?
                   AND status IN (0, 2)
                """.formatted(store.table());
        return store.update(
                        conn,
                        "record a run of event " + eventId,
                        sql,
                        binder -> binder.text(eventId).text(token))
                > 0;
    }

    Set<String> renew(Connection conn, String token, Collection<String> eventIds, Instant now) {
        return store.run("renew leases", () -> {
            int count = store.updateIds(
                    conn, """
                    UPDATE %1$s
                       SET locked_at = ?
                     WHERE %2$s
                       AND locked_by = ?
                       AND status IN (0, 2)
                    """, eventIds, binder -> binder.time("locked_at", now), binder -> binder.text(token));
            return count == eventIds.size() ? Set.copyOf(eventIds) : heldBy(conn, token, eventIds);
        });
    }

    int release(Connection conn, String token, Collection<String> eventIds) {
        return store.run(
                "give back events",
                () -> store.updateIds(conn, """
                UPDATE %1$s
                   SET locked_by = NULL, locked_at = NULL
                 WHERE %2$s
                   AND locked_by = ?
                   AND status IN (0, 2)
                """, eventIds, binder -> {}, binder -> binder.text(token)));
    }

    Set<String> heldBy(Connection conn, String token, Collection<String> eventIds) throws SQLException {
        return store.queryIds(
                conn,
                "SELECT event_id FROM %1$s WHERE %2$s AND locked_by = ? AND status IN (0, 2)",
                eventIds,
                binder -> binder.text(token));
    }

    Set<String> mark(Connection conn, List<Mark> marks, Instant now) {
        return store.run("write " + marks.size() + " outcomes", () -> {
            Set<String> written = new HashSet<>();
            Map<String, List<String>> doneByToken = new TreeMap<>(); // in one order everywhere, against deadlocks
            for (Mark mark : marks) {
                if (mark.status() == EventStatus.DONE) {
                    doneByToken
                            .computeIfAbsent(mark.token(), token -> new ArrayList<>())
                            .add(mark.eventId());
                } else if (markFailed(conn, mark, now)) {
                    written.add(mark.eventId());
                }
            }
            for (Map.Entry<String, List<String>> done : doneByToken.entrySet()) {
                written.addAll(markDone(conn, done.getKey(), done.getValue(), now));
            }
            return written;
        });
    }

    Set<String> remove(Connection conn, List<Mark> done) {
        return store.run("delete " + done.size() + " delivered events", () -> {
            Set<String> removed = new HashSet<>();
            Map<String, List<String>> byToken = new TreeMap<>(); // in one order everywhere, against deadlocks
            done.forEach(mark -> byToken.computeIfAbsent(mark.token(), token -> new ArrayList<>())
                    .add(mark.eventId()));
            for (Map.Entry<String, List<String>> of : byToken.entrySet()) {
                removed.addAll(store.deleteHeld(conn, of.getKey(), of.getValue()));
            }
            return removed;
        });
    }

    private Set<String> markDone(Connection conn, String token, List<String> eventIds, Instant now)
            throws SQLException {
        int count = store.updateIds(
                conn, """
                UPDATE %1$s
                   SET status = 1, done_at = ?, locked_by = NULL, locked_at = NULL
                 WHERE %2$s
                   AND locked_by = ?
                   AND status IN (0, 2)
                """, eventIds, binder -> binder.time("done_at", now), binder -> binder.text(token));
        if (count == eventIds.size()) {
            return Set.copyOf(eventIds);
        }
        // Some were not ours any more; those that were bear the time of this very mark.
        return store.queryIds(
                conn,
                "SELECT event_id FROM %1$s WHERE %2$s AND status = 1 AND done_at = ?",
                eventIds,
                binder -> binder.time("done_at", now));
    }

    private boolean markFailed(Connection conn, Mark mark, Instant now) throws SQLException {
        boolean dead = mark.status() == EventStatus.DEAD;
        // Binds: attempts to add, due time of a retry or time of death, last_error, event_id, token.
        String sql = """
                UPDATE %s
                   SET status = %d, attempts = attempts + ?, %s = ?, last_error = ?, locked_by = NULL, locked_at = NULL
                 WHERE event_id = ?
                   AND locked_by = ?
                   AND status IN (0, 2)
                """.formatted(store.table(), mark.status().code(), dead ? "done_at" : "available_at");
        return store.update(
                        conn,
                        sql,
                        binder -> binder.number(mark.countsAttempt() ? 1 : 0)
                                .time(dead ? "done_at" : "available_at", now.plus(mark.retryAfter()))
                                .text(ErrorText.clean(mark.error()))
                                .text(mark.eventId())
                                .text(mark.token()))
                > 0;
    }
}
