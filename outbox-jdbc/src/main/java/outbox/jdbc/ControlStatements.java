package outbox.jdbc;

import outbox.EventEnvelope;
import outbox.EventRef;
import outbox.jdbc.internal.claim.Due;
import outbox.jdbc.internal.sql.Binder;
import outbox.jdbc.internal.sql.TableColumns;
import outbox.model.EventStatus;
import outbox.spi.EventControl.Pending;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/** The statements of delivery control. Those for keys are in {@link KeyStatements}. */
final class ControlStatements {

    private static final Duration LOOK_AGAIN = Duration.ofMinutes(1);
    private static final List<String> COLUMNS = List.of("dedup_ms", "priority", "expires_at"); // one per capability

    private final AbstractJdbcEventStore store;
    // Time of the next check while the table lacks one of these columns. Any thread reads and writes it.
    private volatile long nextLookNanos = System.nanoTime();

    ControlStatements(AbstractJdbcEventStore store) {
        this.store = store;
    }

    // ---- writing ----

    /** Returns the columns that the event needs in addition to those of a plain outbox. */
    static List<String> columnsOf(EventEnvelope event) {
        List<String> columns = new ArrayList<>(COLUMNS.size());
        if (event.dedupKey() != null) {
            columns.add("dedup_ms");
        }
        if (event.priority() != 0) {
            columns.add("priority");
        }
        if (event.expiresAt() != null) {
            columns.add("expires_at");
        }
        return columns;
    }

    /** Refuses an event that needs a column or table that does not exist. */
    void refuseMissing(Connection conn, TableColumns shape, EventEnvelope event) throws SQLException {
        if (event.dedupKey() != null) {
            store.keys().require(conn, shape, "the dedupKey of event " + event.eventId() + " cannot be kept");
        }
        if (event.priority() != 0 && !shape.has("priority")) {
            throw Capability.PRIORITY.missingIn(
                    store, "priority", "the priority of event " + event.eventId() + " cannot be kept");
        }
        if (event.expiresAt() != null && !shape.has("expires_at")) {
            throw Capability.DEADLINES.missingIn(
                    store, "expires_at", "the deadline of event " + event.eventId() + " cannot be kept");
        }
    }

    /** Binds: dedup_key, dedup_ms. */
    static void bindKey(Binder binder, EventEnvelope event) throws SQLException {
        Duration dedupFor = event.dedupFor();
        binder.text(event.dedupKey()).bigNumber(dedupFor == null ? null : dedupFor.toMillis());
    }

    /**
     * Returns the condition that an event no longer keeps its key, so that it can be deleted. Empty if the table has
     * no keys.
     */
    String keyIsOver(TableColumns shape) {
        return shape.has("dedup_ms")
                ? "AND (dedup_ms IS NULL OR " + store.dialect().plusMillis("done_at", "dedup_ms") + " <= "
                        + store.dialect().nowSql(shape.isZoned("done_at")) + ")"
                : "";
    }

    // ---- changing ----

    Optional<Pending> find(Connection conn, EventRef event, boolean latest) throws SQLException {
        String id = event.eventId();
        if (id != null) {
            return findById(conn, id, "", latest);
        }
        String key = Objects.requireNonNull(event.dedupKey());
        store.keys().require(conn, store.shapeWith(conn, "dedup_ms"), "its events have no keys");
        if (!latest || store.dialect().lockRow().isEmpty()) {
            return store.keys().find(conn, key, true);
        }
        Optional<String> named = store.keys().latest(conn, key);
        return named.isEmpty()
                ? Optional.empty()
                : findById(conn, named.get(), "AND NOT (" + store.keys().isOver(conn) + ")", true);
    }

    /** Returns the event that took the key last, whatever its state is. */
    Optional<Pending> findLast(Connection conn, String key) throws SQLException {
        store.keys().require(conn, store.shapeWith(conn, "dedup_ms"), "its events have no keys");
        return store.keys().find(conn, key, false);
    }

    private Optional<Pending> findById(Connection conn, String id, String condition, boolean latest)
            throws SQLException {
        boolean keys = store.shape(conn).has("dedup_ms");
        // Binds: event_id.
        String sql = """
                SELECT event_id, status, locked_by%s
                  FROM %s e
                 WHERE event_id = ?
                 %s
                 %s
                """.formatted(
                        keys ? ", dedup_key" : "",
                        store.table(),
                        condition,
                        latest ? store.dialect().lockRow() : "");
        return store.query(conn, sql, binder -> binder.text(id), row -> pending(row, keys)).stream()
                .findFirst();
    }

    static Pending pending(ResultSet row, boolean keys) throws SQLException {
        return new Pending(
                row.getString("event_id"),
                EventStatus.of(row.getInt("status")),
                row.getString("locked_by"),
                keys ? row.getString("dedup_key") : null);
    }

    /**
     * Deletes the event. A writer of the same key waits until the cancellation commits, because it cannot know
     * before that the event will be deleted.
     */
    boolean cancel(Connection conn, Pending found) throws SQLException {
        String key = found.dedupKey();
        if (key != null) {
            store.keys().require(conn, store.shape(conn), "event " + found.eventId() + " cannot release its key");
        }
        boolean made = key != null && store.keys().lock(conn, key, found.eventId()) == null;
        // Binds: event_id, token if there is one.
        String sql = "DELETE FROM %s WHERE event_id = ? AND status + 0 IN (0, 2) AND %s"
                .formatted(store.table(), asFound(found));
        boolean cancelled = store.update(conn, sql, binder -> bindFound(binder, found)) > 0;
        if (key != null && (cancelled || made)) {
            store.keys().delete(conn, key, found.eventId());
        }
        return cancelled;
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

    /**
     * Returns the next due time after now, from the index of the claim. Leased events need no search: they were due
     * before now.
     */
    Optional<Instant> nextDue(Connection conn, Instant now) throws SQLException {
        TableColumns shape = store.shape(conn);
        boolean each = store.dialect().dueIndexStartsWithStatus();
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
        TableColumns shape = shapeNow(conn);
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
                    """.formatted(store.table(), status.code(), store.dialect().lockCandidates()));
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

    /**
     * Reads the columns of the table again about once a minute while it lacks one of {@link #COLUMNS}. Otherwise a
     * node that is running when a capability is added would ignore priorities, deadlines and keys until its restart.
     */
    private TableColumns shapeNow(Connection conn) throws SQLException {
        TableColumns known = store.shape(conn);
        List<String> missing = known.missing(COLUMNS);
        if (missing.isEmpty() || System.nanoTime() - nextLookNanos < 0) {
            return known;
        }
        nextLookNanos = System.nanoTime() + LOOK_AGAIN.toNanos();
        return store.shapeWith(conn, missing.get(0));
    }

    void bury(Connection conn, List<String> eventIds, Instant now, Instant lockExpiry, String reason)
            throws SQLException {
        store.updateHeldIds(
                conn,
                """
                UPDATE %1$s
                   SET status = 3, done_at = ?, last_error = ?, locked_by = NULL, locked_at = NULL
                 WHERE %2$s
                   AND status + 0 IN (0, 2)
                   AND\s""" + Due.isFree("locked_at"),
                eventIds,
                binder -> binder.time("done_at", now).text(reason),
                binder -> binder.time("locked_at", lockExpiry));
    }
}
