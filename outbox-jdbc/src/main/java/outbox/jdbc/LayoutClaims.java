package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.internal.text.SafeLogger;
import outbox.jdbc.internal.claim.ClaimTerms;
import outbox.jdbc.internal.claim.Claims;
import outbox.jdbc.internal.claim.Due;
import outbox.jdbc.internal.claim.LayoutFence;
import outbox.jdbc.internal.claim.LayoutFence.Piece;
import outbox.jdbc.internal.row.Candidate;
import outbox.jdbc.internal.row.ContentSql.Reading;
import outbox.jdbc.internal.sql.Binds;
import outbox.jdbc.internal.sql.TableColumns;
import outbox.model.EventStatus;
import outbox.spi.Claim;
import outbox.spi.ClaimedEvent;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;

/** The claim of a table of any layout. It locks candidates and then takes them with a conditional UPDATE. */
final class LayoutClaims implements Claims {

    private static final Logger LOG = SafeLogger.of(LayoutClaims.class);
    private static final Duration END_INTERVAL = Duration.ofMinutes(1);
    private static final int MAX_ENDED = 100;
    private static final String LOCK = "FOR UPDATE SKIP LOCKED";
    private static final String LOST =
            "The process ended, or lost its lease, during the last attempt. Find out what the event does to it, then"
                    + " replay the event.";

    private final LayoutEventStore store;
    private final LayoutSql sql;
    private final LayoutFence fence;
    private final AtomicLong nextEndNanos = new AtomicLong(System.nanoTime());

    LayoutClaims(LayoutEventStore store) {
        this.store = store;
        this.sql = store.sql();
        this.fence = store.fence();
    }

    @Override
    public List<ClaimedEvent> claim(Connection conn, ClaimTerms terms) throws SQLException {
        store.limits().agree(conn);
        Due due = terms.due();
        endLost(conn, due.lockExpiry());
        List<Candidate> found = new ArrayList<>();
        for (String pending : sql.pendingParts()) {
            found.addAll(candidates(conn, pending, due, terms.limit(), terms.idsOnly(), LOCK));
        }
        List<Candidate> candidates = found.stream()
                .filter(candidate -> !fence.isTaken(candidate.eventId(), due.lockExpiry()))
                .sorted(Candidate.ORDER)
                .limit(terms.limit())
                .toList();
        Set<String> taken = take(conn, terms.claim().token(), candidates, due);
        return Candidate.claimed(
                candidates.stream().filter(one -> taken.contains(one.eventId())).toList(), terms.claim());
    }

    private List<Candidate> candidates(
            Connection conn, String pending, Due due, int limit, boolean idsOnly, String lock) throws SQLException {
        TableColumns shape = store.shape(conn);
        Piece free = fence.free(due.lockExpiry());
        // Binds: now, latest created_at, those of the fence, limit.
        String text = """
                SELECT %s
                  FROM %s
                 WHERE %s
                   AND %s
                   AND %s%s
                 ORDER BY %s
                 LIMIT ?
                   %s
                """.formatted(
                idsOnly ? store.rows().idColumns() : store.rows().columns(shape, Reading.SMALL) + fence.columns(),
                store.sqlName(),
                pending,
                sql.isDue(),
                Due.isOld(sql.column(LayoutColumn.CREATED_AT)),
                free.sql(),
                sql.order(),
                lock);
        return store.queryHeld(
                conn,
                text,
                binder -> {
                    binder.time(sql.plain(LayoutColumn.AVAILABLE_AT), due.now())
                            .time(sql.plain(LayoutColumn.CREATED_AT), due.latestCreation());
                    free.binds().to(binder);
                    binder.number(fence.reach(limit));
                },
                row -> idsOnly
                        ? store.rows().unread(row, fence)
                        : store.rows().candidate(row, shape, fence, Reading.SMALL));
    }

    /** Takes the candidates that are still free. All their rows are locked, unless the database has no row locks. */
    private Set<String> take(Connection conn, String token, List<Candidate> candidates, Due due) throws SQLException {
        Set<String> ids = Candidate.ids(candidates);
        if (ids.isEmpty()) {
            return ids;
        }
        Piece mine = fence.take(token, due.now());
        fence.remember(token, ids, due.now());
        if (mine.sql().isEmpty()) {
            return ids;
        }
        Piece free = fence.free(due.lockExpiry());
        int count = store.updateHeldIds(
                conn,
                "UPDATE %1$s" + store.byPrimaryKey() + " SET " + mine.sql() + " WHERE %2$s AND " + sql.isUnfinished()
                        + free.sql(),
                ids,
                mine.binds(),
                free.binds());
        if (count == ids.size() && !fence.needsProof()) {
            return ids;
        }
        Set<String> held = store.held().heldBy(conn, token, ids);
        if (held.size() < count) {
            throw new EventStoreException(
                    "Table " + store.table() + " does not keep the microseconds of "
                            + store.layout().column(LayoutColumn.LOCKED_AT)
                            + ", by which its claims are known. Make it TIMESTAMPTZ, TIMESTAMP(6) or DATETIME(6).",
                    null);
        }
        fence.proved();
        return held;
    }

    @Override
    public Optional<ClaimedEvent> claimOne(Connection conn, Claim claim, String eventId, Due due, @Nullable Claim held)
            throws SQLException {
        boolean ours = held != null
                && !store.held().lock(conn, held.token(), List.of(eventId), "").isEmpty();
        // An event that our claim holds is free for us, whatever its due time is.
        Instant now = ours ? due.now().plus(Duration.ofDays(36_500)) : due.now();
        Instant expiry = ours ? due.now().plus(Duration.ofDays(1)) : due.lockExpiry();
        Piece free = fence.free(expiry);
        // also reads the columns, for the condition
        List<String> ids = List.copyOf(store.possible(conn, List.of(eventId)));
        if (ids.isEmpty()) {
            return Optional.empty();
        }
        TableColumns shape = store.shape(conn);
        // Binds: id, due time, those of the fence.
        String text = """
                SELECT %s%s
                  FROM %s
                 WHERE %s
                   AND %s
                   AND %s%s
                 %s
                """.formatted(
                        store.rows().columns(shape, Reading.WHOLE),
                        fence.columns(),
                        store.sqlName() + store.byPrimaryKey(),
                        store.idCondition(1),
                        ours ? sql.isUnfinished() : sql.isPending(),
                        sql.isDue(),
                        free.sql(),
                        store.dialect().lockNow());
        List<Candidate> found = store
                .queryHeld(
                        conn,
                        text,
                        binder -> {
                            store.bindIds(binder, ids);
                            binder.time(sql.plain(LayoutColumn.AVAILABLE_AT), now);
                            free.binds().to(binder);
                        },
                        row -> store.rows().candidate(row, shape, fence, Reading.WHOLE))
                .stream()
                .filter(candidate -> !fence.isTaken(eventId, expiry))
                .toList();
        if (take(conn, claim.token(), found, new Due(due.now(), expiry, due.latestCreation()))
                .isEmpty()) {
            return Optional.empty();
        }
        return Optional.of(
                new ClaimedEvent(found.get(0).event(), claim, found.get(0).wasHeld() && !ours));
    }

    @Override
    public List<String> due(Connection conn, Due due, int limit) throws SQLException {
        List<String> found = new ArrayList<>();
        for (String pending : sql.pendingParts()) {
            found.addAll(Candidate.ids(candidates(conn, pending, due, limit, true, "")));
        }
        return found;
    }

    @Override
    public List<String> endUnreachable(Connection conn, Instant now, Instant lockExpiry, String reason, int limit)
            throws SQLException {
        Piece free = fence.free(lockExpiry);
        Set<String> ids = new HashSet<>();
        for (String pending : sql.pendingParts()) {
            ids.addAll(lock(
                    conn,
                    pending + " AND " + sql.column(LayoutColumn.AVAILABLE_AT) + " >= " + TableColumns.NEVER_SQL
                            + free.sql(),
                    free.binds(),
                    limit - ids.size()));
        }
        ids.removeIf(eventId -> fence.isTaken(eventId, lockExpiry));
        store.updateHeldIds(
                conn,
                "UPDATE %1$s" + store.byPrimaryKey() + " SET " + sql.set(EventStatus.DEAD) + fence.letGo()
                        + " WHERE %2$s AND " + sql.isUnfinished(),
                ids,
                binder -> sql.bindMark(binder, EventStatus.DEAD, 0, now, reason, now),
                binder -> {});
        fence.forgetAll(ids);
        return List.copyOf(ids);
    }

    /** Binds: those of the condition, limit. */
    private List<String> lock(Connection conn, String condition, Binds binds, int limit) throws SQLException {
        return store.queryHeld(
                conn,
                "SELECT " + store.idColumn() + " FROM " + store.sqlName() + " WHERE " + condition + " LIMIT ? " + LOCK,
                binder -> {
                    binds.to(binder);
                    binder.number(limit);
                },
                row -> row.getString(1));
    }

    /**
     * Gives a reason to events that are dead because their last run was recorded but its process ended, and releases
     * them. This concerns layouts where the attempts identify dead events: no claim finds such an event again. Runs
     * once a minute, because the statement reads all unfinished events.
     */
    private void endLost(Connection conn, Instant lockExpiry) throws SQLException {
        long due = nextEndNanos.get();
        long now = System.nanoTime();
        if (!store.isShared()
                || sql.has(LayoutColumn.STATUS)
                || now - due < 0
                || !nextEndNanos.compareAndSet(due, now + END_INTERVAL.toNanos())) {
            return;
        }
        List<String> lost = lock(
                conn,
                sql.is(EventStatus.DEAD) + " AND " + sql.column(LayoutColumn.LOCKED_AT) + " < ?",
                binder -> binder.time(sql.plain(LayoutColumn.LOCKED_AT), lockExpiry),
                MAX_ENDED);
        if (lost.isEmpty()) {
            return;
        }
        boolean errors = sql.has(LayoutColumn.LAST_ERROR);
        String set = fence.letGo().substring(2) + (errors ? ", " + sql.column(LayoutColumn.LAST_ERROR) + " = ?" : "");
        store.updateHeldIds(
                conn,
                "UPDATE %1$s SET " + set + " WHERE %2$s",
                lost,
                binder -> {
                    if (errors) {
                        binder.text(LOST);
                    }
                },
                binder -> {});
        LOG.log(Level.ERROR, lost.size() + " events of table " + store.table() + " are dead: " + LOST + " " + lost);
    }
}
