package outbox.jdbc;

import outbox.jdbc.internal.claim.LayoutFence;
import outbox.jdbc.internal.claim.LayoutFence.Piece;
import outbox.jdbc.internal.sql.Binder;
import outbox.jdbc.internal.sql.Binds;
import outbox.jdbc.internal.sql.TableColumns;
import outbox.model.EventStatus;
import outbox.spi.Mark;

import java.sql.Connection;
import java.sql.PreparedStatement;
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
 * The statements on events that a claim holds. Each statement checks with the {@link LayoutFence} that
 * the claim still holds the event. A claim that lost the event changes nothing. The rows are found by id,
 * see {@link LayoutSql#isUnfinished}.
 */
class HeldEventStatements {

    private static final Binds NOTHING = binder -> {};

    final TableEventStore store;
    private final LayoutSql words;
    private final LayoutFence fence;
    private final boolean locksMarked;

    /**
     * @param locksMarked whether rows are locked before they become DONE, because no column says which claim
     *     marked them
     */
    HeldEventStatements(TableEventStore store, boolean locksMarked) {
        this.store = store;
        this.words = store.sql();
        this.fence = store.fence();
        this.locksMarked = locksMarked;
    }

    final boolean setAttempts(Connection conn, String token, String eventId, int attempts) throws SQLException {
        String set = words.column(LayoutColumn.ATTEMPTS) + " = ?";
        return update(conn, token, List.of(eventId), set, binder -> binder.number(attempts)) > 0;
    }

    final Set<String> renew(Connection conn, String token, Collection<String> eventIds, Instant now)
            throws SQLException {
        Collection<String> ids = fence.mine(token, store.possible(conn, eventIds));
        if (ids.isEmpty()) {
            return Set.of();
        }
        Piece held = fence.held(token); // before the renewal adds a further lock time to the claim
        Piece renewed = fence.renew(token, now);
        fence.remember(token, ids, now);
        if (renewed.sql().isEmpty()) {
            return heldBy(conn, token, ids);
        }
        Collection<String> tried = lockFirst(conn, token, ids);
        int count = update(conn, tried, renewed.sql(), renewed.binds(), held);
        return count == tried.size() ? Set.copyOf(tried) : heldBy(conn, token, tried);
    }

    final int release(Connection conn, String token, Collection<String> eventIds) throws SQLException {
        String letGo = fence.letGo();
        int count = letGo.isEmpty()
                ? heldBy(conn, token, eventIds).size()
                : update(conn, token, eventIds, letGo.substring(2) + words.staysPending(), NOTHING);
        fence.forget(token, eventIds);
        return count;
    }

    /** Keeps the claim and sets a lease that ended long ago. */
    final int releaseSuspects(Connection conn, String token, Collection<String> eventIds) throws SQLException {
        Piece over = fence.leaseOver();
        if (!over.sql().isEmpty()) {
            return update(conn, token, eventIds, over.sql() + words.staysPending(), over.binds());
        }
        Set<String> ids = heldBy(conn, token, eventIds);
        fence.remember(token, ids, LayoutFence.LONG_AGO);
        return ids.size();
    }

    private int update(Connection conn, String token, Collection<String> eventIds, String set, Binds binds)
            throws SQLException {
        Piece held = fence.held(token);
        return update(conn, lockFirst(conn, token, eventIds), set, binds, held);
    }

    private int update(Connection conn, Collection<String> eventIds, String set, Binds binds, Piece held)
            throws SQLException {
        return store.updateHeldIds(
                conn,
                "UPDATE " + table(conn) + " SET " + set + " WHERE %2$s AND " + words.isUnfinished() + held.sql(),
                eventIds,
                binds,
                held.binds());
    }

    /**
     * Returns the events for an UPDATE. If the UPDATE would wait for locks, locks the events that the claim holds
     * and returns only those.
     */
    private Collection<String> lockFirst(Connection conn, String token, Collection<String> eventIds)
            throws SQLException {
        return store.dialect().locksFirst()
                ? lock(conn, token, eventIds, "")
                : fence.mine(token, store.possible(conn, eventIds));
    }

    /**
     * Locks the events that the claim holds and returns them. Fails if another transaction keeps one of them locked.
     *
     * @param condition an additional condition, beginning with AND; may be empty
     */
    final Set<String> lock(Connection conn, String token, Collection<String> eventIds, String condition)
            throws SQLException {
        return select(conn, token, eventIds, condition + " " + store.dialect().lockNow());
    }

    final Set<String> heldBy(Connection conn, String token, Collection<String> eventIds) throws SQLException {
        return select(conn, token, eventIds, "");
    }

    private Set<String> select(Connection conn, String token, Collection<String> eventIds, String end)
            throws SQLException {
        Piece held = fence.held(token);
        return store.queryHeldIds(
                conn,
                ids(conn) + " AND " + words.isUnfinished() + held.sql() + end,
                fence.mine(token, store.possible(conn, eventIds)),
                held.binds());
    }

    /** Locks the rows that no other transaction has locked. Returns the ids of the other events. */
    final Set<String> lockFree(Connection conn, Collection<String> eventIds) throws SQLException {
        Set<String> others = new HashSet<>(store.possible(conn, eventIds));
        others.removeAll(store.queryHeldIds(conn, ids(conn) + " FOR UPDATE SKIP LOCKED", List.copyOf(others), NOTHING));
        return store.queryHeldIds(conn, ids(conn), others, NOTHING);
    }

    /** Returns a SELECT of ids by ids. */
    private String ids(Connection conn) throws SQLException {
        return "SELECT " + store.idColumn() + " FROM " + table(conn) + " WHERE %2$s";
    }

    /**
     * Returns the table name with the clause that finds rows by id. The columns are read first, because the clause
     * depends on them.
     */
    private String table(Connection conn) throws SQLException {
        store.shape(conn);
        return "%1$s" + store.byPrimaryKey();
    }

    final Set<String> mark(Connection conn, List<Mark> marks, Instant now) throws SQLException {
        Set<String> written = new HashSet<>();
        for (EventStatus failed : List.of(EventStatus.RETRY, EventStatus.DEAD)) {
            List<Mark> some = of(marks, failed);
            if (!some.isEmpty()) {
                written.addAll(markFailed(conn, failed, some, now));
            }
        }
        for (Map.Entry<String, List<String>> done :
                idsByToken(of(marks, EventStatus.DONE)).entrySet()) {
            Set<String> ours = markDone(conn, done.getKey(), done.getValue(), now);
            fence.forget(done.getKey(), ours);
            written.addAll(ours);
        }
        return written;
    }

    /** Sorts the marks by event id, so that concurrent groups lock rows in the same order. */
    private static List<Mark> of(List<Mark> marks, EventStatus status) {
        return marks.stream()
                .filter(mark -> mark.status() == status)
                .sorted(Comparator.comparing(Mark::eventId))
                .toList();
    }

    /** Sorts the tokens, so that all transactions use the same order and do not deadlock. */
    private static Map<String, List<String>> idsByToken(List<Mark> marks) {
        return marks.stream()
                .collect(Collectors.groupingBy(
                        Mark::token, TreeMap::new, Collectors.mapping(Mark::eventId, Collectors.toList())));
    }

    private Set<String> markDone(Connection conn, String token, List<String> eventIds, Instant now)
            throws SQLException {
        Collection<String> tried = locksMarked ? lock(conn, token, eventIds, "") : lockFirst(conn, token, eventIds);
        int count = update(
                conn,
                tried,
                words.set(EventStatus.DONE) + fence.letGo(),
                binder -> words.bindMark(binder, EventStatus.DONE, 0, now, "", now),
                fence.held(token));
        if (locksMarked || count == tried.size()) {
            return Set.copyOf(tried);
        }
        // The claim lost some events. Those that it still held have the time of this mark.
        return store.queryHeldIds(
                conn,
                "SELECT event_id FROM %1$s WHERE %2$s AND status = 1 AND done_at = ?",
                tried,
                binder -> binder.time("done_at", now));
    }

    /**
     * Writes outcomes of one status other than DONE. Returns the events that their claim still held. The result
     * comes from the locked rows, not from the update counts of the batch, because a driver may not report them.
     */
    Set<String> markFailed(Connection conn, EventStatus status, List<Mark> marks, Instant now) throws SQLException {
        Map<String, Set<String>> held = new TreeMap<>();
        for (Map.Entry<String, List<String>> of : idsByToken(marks).entrySet()) {
            held.put(of.getKey(), lock(conn, of.getKey(), of.getValue(), ""));
        }
        List<Mark> ours = heldOnce(marks, held);
        if (!ours.isEmpty()) {
            writeLocked(conn, status, ours, now);
        }
        held.forEach(fence::forget);
        return ours.stream().map(Mark::eventId).collect(Collectors.toSet());
    }

    /** Returns the marks whose own claim holds the event, each event once: a repeated mark must not count twice. */
    private static List<Mark> heldOnce(List<Mark> marks, Map<String, Set<String>> held) {
        Set<String> seen = new HashSet<>();
        return marks.stream()
                .filter(mark ->
                        held.getOrDefault(mark.token(), Set.of()).contains(mark.eventId()) && seen.add(mark.eventId()))
                .toList();
    }

    private void writeLocked(Connection conn, EventStatus status, List<Mark> marks, Instant now) throws SQLException {
        TableColumns shape = store.shape(conn);
        String sql = "UPDATE " + store.sqlName() + " SET " + words.set(status) + fence.letGo() + " WHERE "
                + store.idColumn() + " = " + words.parameter(shape, LayoutColumn.EVENT_ID);
        try (PreparedStatement update = conn.prepareStatement(sql)) {
            for (Mark mark : marks) {
                Binder binder = new Binder(update, shape);
                words.bindMark(
                        binder,
                        status,
                        mark.countsAttempt() ? 1 : 0,
                        words.timeOf(status, mark.retryAfter(), now),
                        mark.error(),
                        now);
                binder.text(mark.eventId());
                update.addBatch();
            }
            update.executeBatch();
        }
    }

    final Set<String> remove(Connection conn, List<Mark> done) throws SQLException {
        Set<String> removed = new HashSet<>();
        for (Map.Entry<String, List<String>> of : idsByToken(done).entrySet()) {
            Set<String> ours = delete(conn, of.getKey(), of.getValue());
            fence.forget(of.getKey(), ours);
            removed.addAll(ours);
        }
        return removed;
    }

    /** Deletes the events that the claim holds and returns them. */
    Set<String> delete(Connection conn, String token, Collection<String> eventIds) throws SQLException {
        Set<String> held = lock(conn, token, eventIds, "");
        store.delete(conn, held);
        return held;
    }
}
