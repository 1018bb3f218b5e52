package outbox.jdbc;

import outbox.model.EventStatus;
import outbox.spi.Mark;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The statements on events that a claim holds. Each names the token of its claim: whoever lost the event changes nothing.
 *
 * <p>They find their rows by id. {@code status + 0} instead of {@code status} keeps PostgreSQL from its index on unfinished events, which its planner, without statistics of a table
 * that changes so fast, takes for small; in fact it holds an entry for each event that was finished since the last vacuum.
 */
final class HeldEventStatements {

    private final JdbcTable store;

    HeldEventStatements(JdbcTable store) {
        this.store = store;
    }

    boolean setAttempts(Connection conn, String token, String eventId, int attempts) {
        // Binds: attempts, event_id, token.
        String sql = """
                UPDATE %s
                   SET attempts = ?
                 WHERE event_id = ?
                   AND locked_by = ?
                   AND status + 0 IN (0, 2)
                """.formatted(store.table());
        return store.run("set the attempts of event " + eventId, () -> {
            boolean ours = !store.locksFirst()
                    || !store.lockHeld(conn, token, List.of(eventId)).isEmpty();
            return ours
                    && store.updateHeld(
                                    conn,
                                    sql,
                                    binder -> binder.number(attempts)
                                            .text(eventId)
                                            .text(token))
                            > 0;
        });
    }

    Set<String> renew(Connection conn, String token, Collection<String> eventIds, Instant now) {
        return store.run("renew leases", () -> {
            Collection<String> tried = lockFirst(conn, token, eventIds);
            int count = store.updateHeldIds(
                    conn, """
                    UPDATE %1$s
                       SET locked_at = ?
                     WHERE %2$s
                       AND locked_by = ?
                       AND status + 0 IN (0, 2)
                    """, tried, binder -> binder.time("locked_at", now), binder -> binder.text(token));
            return count == tried.size() ? Set.copyOf(tried) : heldBy(conn, token, tried);
        });
    }

    int release(Connection conn, String token, Collection<String> eventIds) {
        return store.run(
                "give back events",
                () -> store.updateHeldIds(
                        conn, """
                UPDATE %1$s
                   SET locked_by = NULL, locked_at = NULL
                 WHERE %2$s
                   AND locked_by = ?
                   AND status + 0 IN (0, 2)
                """, lockFirst(conn, token, eventIds), binder -> {}, binder -> binder.text(token)));
    }

    /** The token stays, with a lease that ended long ago. */
    int releaseSuspects(Connection conn, String token, Collection<String> eventIds) {
        return store.run(
                "give back suspects",
                () -> store.updateHeldIds(
                        conn,
                        """
                UPDATE %1$s
                   SET locked_at = ?
                 WHERE %2$s
                   AND locked_by = ?
                   AND status + 0 IN (0, 2)
                """,
                        lockFirst(conn, token, eventIds),
                        binder -> binder.time("locked_at", LayoutFence.LONG_AGO),
                        binder -> binder.text(token)));
    }

    /**
     * The events that an UPDATE should name: all, or those that are ours and locked, where it would wait for a lock.
     */
    private Collection<String> lockFirst(Connection conn, String token, Collection<String> eventIds)
            throws SQLException {
        return store.locksFirst() ? store.lockHeld(conn, token, eventIds) : eventIds;
    }

    /** Locks the rows that nobody else has locked; returns the events of the others. */
    Set<String> lockFree(Connection conn, Collection<String> eventIds) {
        return store.run("lock events", () -> {
            Set<String> others = new HashSet<>(eventIds);
            others.removeAll(store.queryHeldIds(
                    conn,
                    "SELECT event_id FROM %1$s" + store.byPrimaryKey() + " WHERE %2$s FOR UPDATE SKIP LOCKED",
                    eventIds,
                    binder -> {}));
            return store.queryHeldIds(conn, "SELECT event_id FROM %1$s WHERE %2$s", others, binder -> {});
        });
    }

    Set<String> heldBy(Connection conn, String token, Collection<String> eventIds) throws SQLException {
        return store.queryHeldIds(
                conn,
                "SELECT event_id FROM %1$s WHERE %2$s AND locked_by = ? AND status + 0 IN (0, 2)",
                eventIds,
                binder -> binder.text(token));
    }

    Set<String> mark(Connection conn, List<Mark> marks, Instant now) {
        return store.run("write " + marks.size() + " outcomes", () -> {
            Set<String> written = new HashSet<>();
            for (EventStatus failed : List.of(EventStatus.RETRY, EventStatus.DEAD)) {
                List<Mark> some = of(marks, failed);
                if (!some.isEmpty()) {
                    written.addAll(store.markFailed(conn, failed, some, now));
                }
            }
            for (Map.Entry<String, List<String>> done :
                    idsByToken(of(marks, EventStatus.DONE)).entrySet()) {
                written.addAll(markDone(conn, done.getKey(), done.getValue(), now));
            }
            return written;
        });
    }

    /** In the order of their ids, so that concurrent groups lock rows in the same order. */
    private static List<Mark> of(List<Mark> marks, EventStatus status) {
        return marks.stream()
                .filter(mark -> mark.status() == status)
                .sorted(Comparator.comparing(Mark::eventId))
                .toList();
    }

    /** Tokens in one order everywhere, against deadlocks. */
    static Map<String, List<String>> idsByToken(List<Mark> marks) {
        return marks.stream()
                .collect(Collectors.groupingBy(
                        Mark::token, TreeMap::new, Collectors.mapping(Mark::eventId, Collectors.toList())));
    }

    Set<String> remove(Connection conn, List<Mark> done) {
        return store.run("delete " + done.size() + " delivered events", () -> {
            Set<String> removed = new HashSet<>();
            for (Map.Entry<String, List<String>> of : idsByToken(done).entrySet()) {
                removed.addAll(store.deleteHeld(conn, of.getKey(), of.getValue()));
            }
            return removed;
        });
    }

    private Set<String> markDone(Connection conn, String token, List<String> eventIds, Instant now)
            throws SQLException {
        Collection<String> tried = lockFirst(conn, token, eventIds);
        int count = store.updateHeldIds(
                conn, """
                UPDATE %1$s
                   SET status = 1, done_at = ?, locked_by = NULL, locked_at = NULL
                 WHERE %2$s
                   AND locked_by = ?
                   AND status + 0 IN (0, 2)
                """, tried, binder -> binder.time("done_at", now), binder -> binder.text(token));
        if (count == tried.size()) {
            return Set.copyOf(tried);
        }
        // Some were not ours any more; those that were bear the time of this very mark.
        return store.queryHeldIds(
                conn,
                "SELECT event_id FROM %1$s WHERE %2$s AND status = 1 AND done_at = ?",
                tried,
                binder -> binder.time("done_at", now));
    }
}
