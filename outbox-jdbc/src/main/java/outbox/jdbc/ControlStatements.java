package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.EventRef;
import outbox.model.EventStatus;
import outbox.spi.ControlledEventStore.Pending;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * The statements of delivery control. A key is taken by an unfinished event, and by a delivered one that keeps it, until somebody asks for it after its time: then it is set free.
 * Only the unique index decides who has a key.
 */
final class ControlStatements {

    private static final int MAX_TRIES = 10; // each means that whoever had the key just let it go

    private static final Duration LOOK_AGAIN = Duration.ofMinutes(1);

    private final AbstractJdbcEventStore store;
    private volatile long nextLookNanos = System.nanoTime(); // while the table has no deadlines

    ControlStatements(AbstractJdbcEventStore store) {
        this.store = store;
    }

    /** Who has a key, and whether its time is over. */
    private record Holder(String eventId, boolean isOver) {}

    /** A statement that takes a key, and answers whether it changed anything. */
    @FunctionalInterface
    interface Taking {
        boolean run() throws SQLException;
    }

    // ---- writing ----

    /** Whether the event needs a column beyond the plain outbox. */
    static boolean isControlled(EventEnvelope event) {
        return event.dedupKey() != null || event.priority() != 0 || event.expiresAt() != null;
    }

    /** Refuses an event that needs a column which the table does not have. */
    void refuseMissing(TableShape shape, EventEnvelope event) {
        if (event.dedupKey() != null) {
            require(shape, store.keyColumn(), "the dedupKey of event " + event.eventId() + " cannot be kept");
        }
        if (event.priority() != 0) {
            require(shape, "priority", "the priority of event " + event.eventId() + " cannot be kept");
        }
        if (event.expiresAt() != null) {
            require(shape, "expires_at", "the deadline of event " + event.eventId() + " cannot be kept");
        }
    }

    private void require(TableShape shape, String column, String consequence) {
        if (!shape.has(column)) {
            throw Capability.CONTROL.missingIn(store, column, consequence);
        }
    }

    /** Binds: dedup_key, dedup_ms, priority, expires_at. */
    static void bind(Binder binder, EventEnvelope event) throws SQLException {
        Duration dedupFor = event.dedupFor();
        binder.text(event.dedupKey())
                .bigNumber(dedupFor == null ? null : dedupFor.toMillis())
                .smallNumber(event.priority() == 0 ? null : event.priority())
                .time("expires_at", event.expiresAt());
    }

    /**
     * Inserts an event unless its key is taken; answers who has it then, and null if the event was inserted.
     *
     * <p>Where the refusal of a duplicate leaves a lock on it, which would hold up its delivery until the caller commits, the key is looked at first; the lock then comes in a race only.
     * Not so in a transaction with a snapshot of its own: it would find who had the key back then, so there the insert alone decides.
     */
    @Nullable
    String insertKeyed(Connection conn, EventEnvelope event, Taking insert) throws SQLException {
        String key = Objects.requireNonNull(event.dedupKey());
        boolean look = store.passOverDuplicate().isEmpty()
                && conn.getTransactionIsolation() <= Connection.TRANSACTION_READ_COMMITTED;
        for (int tries = 0; tries < MAX_TRIES; tries++) {
            if (look) {
                String holder = holderOf(conn, key, false);
                if (holder != null) {
                    return holder;
                }
            }
            if (insert.run()) {
                return null;
            }
            String holder = holderOf(conn, key, true);
            if (holder != null) {
                return holder;
            }
            if (find(conn, EventRef.id(event.eventId()), true).isPresent()) {
                throw store.duplicate(List.of(event.eventId()), null);
            }
        }
        throw new EventStoreException(
                "The dedupKey of event " + event.eventId() + " in table " + store.table()
                        + " was taken and set free again " + MAX_TRIES + " times while it was written; try again",
                null);
    }

    /** Sets a key free whose time is over. */
    private @Nullable String holderOf(Connection conn, String key, boolean latest) throws SQLException {
        TableShape shape = store.shape(conn);
        // Binds: key.
        String sql = """
                SELECT event_id,
                       CASE WHEN status = 1 AND %s <= %s THEN 1 ELSE 0 END AS is_over
                  FROM %s
                 WHERE %s
                 %s
                """.formatted(
                        store.plusMillis("done_at", "dedup_ms"),
                        store.nowSql(shape.isZoned("done_at")),
                        store.controlTable(shape),
                        store.keyIsTaken(),
                        latest ? store.lockRow() : "");
        List<Holder> holders = store.query(
                conn,
                sql,
                binder -> binder.text(key),
                row -> new Holder(row.getString("event_id"), row.getInt("is_over") == 1));
        if (holders.isEmpty()) {
            return null;
        }
        Holder holder = holders.get(0);
        if (holder.isOver()) {
            letGo(conn, holder.eventId());
            return null;
        }
        return holder.eventId();
    }

    private void letGo(Connection conn, String eventId) throws SQLException {
        // Binds: event_id.
        String sql = "UPDATE %s SET dedup_ms = NULL WHERE event_id = ? AND status = 1".formatted(store.table());
        store.update(conn, sql, binder -> binder.text(eventId));
    }

    /** The condition that an event keeps no key any more, for those that delete it; empty where none has one. */
    String keyIsOver(TableShape shape) {
        return shape.has("dedup_ms")
                ? "AND (dedup_ms IS NULL OR " + store.plusMillis("done_at", "dedup_ms") + " <= "
                        + store.nowSql(shape.isZoned("done_at")) + ")"
                : "";
    }

    // ---- replaying ----

    /** Makes an event with a key pending again; false if another event has the key. */
    boolean withKey(Connection conn, String eventId, String key, Taking change) throws SQLException {
        String holder = holderOf(conn, key, true);
        if (holder != null && !holder.equals(eventId)) {
            return false;
        }
        Savepoint before = conn.setSavepoint(); // somebody may take the key right now
        try {
            boolean changed = change.run();
            conn.releaseSavepoint(before);
            return changed;
        } catch (SQLException e) {
            if (!store.isDuplicateKey(e)) {
                throw e;
            }
            conn.rollback(before);
            return false;
        }
    }

    // ---- changing ----

    Optional<Pending> find(Connection conn, EventRef event, boolean latest) throws SQLException {
        String id = event.eventId();
        TableShape shape = id != null ? store.shape(conn) : store.shapeWith(conn, store.keyColumn());
        if (id == null) {
            require(shape, store.keyColumn(), "its events have no keys");
        }
        // Binds: id or key.
        String sql = """
                SELECT event_id, status, locked_by
                  FROM %s
                 WHERE %s
                 %s
                """.formatted(
                        id != null ? store.table() : store.controlTable(shape),
                        id != null ? "event_id = ?" : store.keyIsTaken(),
                        latest ? store.lockRow() : "");
        String name = id != null ? id : Objects.requireNonNull(event.dedupKey());
        return store.query(conn, sql, binder -> binder.text(name), ControlStatements::pending).stream()
                .findFirst();
    }

    private static Pending pending(ResultSet row) throws SQLException {
        return new Pending(row.getString("event_id"), EventStatus.of(row.getInt("status")), row.getString("locked_by"));
    }

    boolean cancel(Connection conn, Pending found) throws SQLException {
        // Binds: event_id, token if there is one.
        String sql = "DELETE FROM %s WHERE event_id = ? AND status + 0 IN (0, 2) AND %s"
                .formatted(store.table(), asFound(found));
        return store.update(conn, sql, binder -> bindFound(binder, found)) > 0;
    }

    boolean reschedule(Connection conn, Pending found, Instant availableAt) throws SQLException {
        // Binds: available_at, event_id, token if there is one.
        String sql = """
                UPDATE %s
                   SET available_at = ?, locked_by = NULL, locked_at = NULL
                 WHERE event_id = ?
                   AND status + 0 IN (0, 2)
                   AND %s
                """.formatted(store.table(), asFound(found));
        return store.update(conn, sql, binder -> bindFound(binder.time("available_at", availableAt), found)) > 0;
    }

    private static String asFound(Pending found) {
        return found.lockedBy() == null ? "locked_by IS NULL" : "locked_by = ?";
    }

    private static void bindFound(Binder binder, Pending found) throws SQLException {
        binder.text(found.eventId());
        if (found.lockedBy() != null) {
            binder.text(found.lockedBy());
        }
    }

    // ---- time ----

    /** The first row behind now in the index of the claim. What is leased is in other hands, and was due before. */
    Optional<Instant> nextDue(Connection conn, Instant now) throws SQLException {
        TableShape shape = store.shape(conn);
        boolean each = store.dueIndexStartsWithStatus();
        String sql = shape.text(
                "next due",
                () -> each
                        ? "(" + firstDue("status = 0") + ") UNION ALL (" + firstDue("status = 2") + ")"
                        : firstDue("status IN (0, 2)"));
        List<Instant> first = store.queryByIndex(
                conn,
                sql,
                binder -> {
                    binder.time("available_at", now);
                    if (each) {
                        binder.time("available_at", now);
                    }
                },
                row -> Objects.requireNonNull(shape.read(row, "available_at")));
        return first.stream().min(Instant::compareTo);
    }

    /** Binds: now. */
    private String firstDue(String status) {
        return """
                SELECT available_at
                  FROM %s
                 WHERE %s
                   AND available_at > ?
                   AND locked_by IS NULL
                 ORDER BY available_at
                 LIMIT 1""".formatted(store.table(), status);
    }

    List<String> expire(Connection conn, Instant now, Instant lockExpiry, String reason, int limit)
            throws SQLException {
        TableShape shape = shapeNow(conn);
        List<String> expired = new ArrayList<>();
        if (!shape.has("expires_at")) {
            return expired;
        }
        for (EventStatus status : List.of(EventStatus.NEW, EventStatus.RETRY)) {
            // Binds: now, lock expiry, limit.
            String sql = shape.text("expired " + status, () ->
                    """
                    SELECT event_id
                      FROM %s
                     WHERE status = %d
                       AND expires_at < ?
                       AND (locked_at IS NULL OR locked_at < ?)
                     ORDER BY expires_at
                     LIMIT ?
                     %s
                    """.formatted(store.controlTable(shape), status.code(), store.lockCandidates()));
            expired.addAll(store.queryAnew(
                    conn,
                    sql,
                    binder -> binder.time("expires_at", now)
                            .time("locked_at", lockExpiry)
                            .number(limit),
                    row -> row.getString(1)));
        }
        if (!expired.isEmpty()) {
            bury(conn, expired, now, lockExpiry, reason);
        }
        return expired;
    }

    /** Looks about once a minute whether the table got its columns: a node that ran before that must not ignore deadlines and kept keys until it is restarted. */
    private TableShape shapeNow(Connection conn) throws SQLException {
        TableShape known = store.shape(conn);
        if (known.has("expires_at") || System.nanoTime() - nextLookNanos < 0) {
            return known;
        }
        nextLookNanos = System.nanoTime() + LOOK_AGAIN.toNanos();
        return store.shapeWith(conn, "expires_at");
    }

    private void bury(Connection conn, List<String> eventIds, Instant now, Instant lockExpiry, String reason)
            throws SQLException {
        store.updateHeldIds(
                conn,
                """
                UPDATE %1$s
                   SET status = 3, done_at = ?, last_error = ?, locked_by = NULL, locked_at = NULL
                 WHERE %2$s
                   AND status + 0 IN (0, 2)
                   AND (locked_at IS NULL OR locked_at < ?)
                """,
                eventIds,
                binder -> binder.time("done_at", now).text(reason),
                binder -> binder.time("locked_at", lockExpiry));
    }
}
