package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.spi.ControlledEventStore.Pending;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * The keys of events, in a side table that all outbox tables of a schema share. A row names the event that took the
 * key last. The key is taken while that event is unfinished, or delivered and kept; the writer finds out by looking
 * at the event, so nothing is written here when an event ends.
 *
 * <p>A transaction that decides about a key locks its row first, until its end: a write, a replay, a cancellation,
 * the purge. The purge skips a row that is locked; the others wait. A write waits for no unfinished event. See ADR 49.
 */
class KeyStatements {

    private static final int MAX_TRIES = 10; // each means that a cancellation or the purge has just deleted the row

    private final AbstractJdbcEventStore store;
    private final TableName table;
    private volatile boolean present; // once seen; a table that is dropped later is an error of the statement

    KeyStatements(AbstractJdbcEventStore store) {
        this.store = store;
        this.table = table(store);
    }

    /** The table of keys next to the table of the store. */
    static TableName table(AbstractJdbcEventStore store) {
        return store.table().sibling("outbox_key");
    }

    /**
     * The name of the table of the store in rows, in lower case: databases do not tell names of tables apart by case.
     */
    static String owner(AbstractJdbcEventStore store) {
        return store.table().simpleName().toLowerCase(Locale.ROOT);
    }

    final AbstractJdbcEventStore store() {
        return store;
    }

    final TableName table() {
        return table;
    }

    /** Refuses what needs keys where there is no table for them. */
    void require(Connection conn, TableShape shape, String consequence) throws SQLException {
        if (!shape.has("dedup_ms")) {
            throw Capability.CONTROL.missingIn(store, "dedup_key", consequence);
        }
        if (!exists(conn)) {
            throw new EventStoreException(
                    "Table " + table + " does not exist, so " + consequence
                            + ". Create it by OutboxSchema.create with Capability.CONTROL, or as in "
                            + Capability.CONTROL.lastResource(store.name()) + " of outbox-jdbc.",
                    null);
        }
    }

    private boolean exists(Connection conn) throws SQLException {
        if (!present) {
            present = store.hasTable(conn, table);
        }
        return present;
    }

    /** Whether the table of keys, which exists, has all that the migration puts there. */
    boolean isComplete(Connection conn) throws SQLException {
        return true;
    }

    // ---- deciding who has a key ----

    /**
     * What came of a try to take a key.
     *
     * @param made whether the key is taken now
     * @param former the event that took it last before, if any; if the key was not taken, the one that has it
     */
    record Take(boolean made, @Nullable String former) {}

    /** Gives the key to an event that is about to be inserted. */
    Take take(Connection conn, String key, String eventId) throws SQLException {
        String named = lock(conn, key, eventId);
        boolean free = named == null || isFree(conn, key, named);
        if (named != null && free) {
            name(conn, key, eventId);
        }
        return new Take(free, named);
    }

    /** Undoes that the event took the key, in the transaction that took it. */
    void release(Connection conn, String key, String eventId, @Nullable String former) throws SQLException {
        if (former == null) {
            delete(conn, key, eventId);
        } else {
            name(conn, key, former);
        }
    }

    /** Gives the key to an event that is about to be replayed; false if another event has it. */
    boolean takeAgain(Connection conn, String key, String eventId) throws SQLException {
        String named = lock(conn, key, eventId);
        if (named != null && !named.equals(eventId) && !isFree(conn, key, named)) {
            return false;
        }
        name(
                conn, key,
                eventId); // also if it is named already: transactions of PostgreSQL with an old snapshot must notice
        return true;
    }

    /**
     * Locks the row of the key, and returns the id of the event that it names. Without a row, inserts one that names
     * the given event, and returns null.
     */
    @Nullable
    String lock(Connection conn, String key, String eventId) throws SQLException {
        for (int tries = 0; tries < MAX_TRIES; tries++) {
            if (insert(conn, key, eventId)) {
                return null;
            }
            List<String> named = lockedRow(conn, key);
            if (!named.isEmpty()) {
                return named.get(0);
            }
        }
        throw new EventStoreException(
                "The dedupKey of event " + eventId + " in table " + store.table() + " was set free and taken again "
                        + MAX_TRIES + " times while it was written; try again",
                null);
    }

    /** False if there is a row of the key. */
    final boolean insert(Connection conn, String key, String eventId) throws SQLException {
        return store.insertIfFree(
                conn,
                insertSql() + " " + store.passOverDuplicate(),
                statement ->
                        bindKey(new Binder(statement, store.shape(conn)), key).text(eventId));
    }

    /** Binds: those of the key, event_id. */
    String insertSql() {
        return "INSERT INTO %s (outbox_table, dedup_key, event_id) VALUES (?, ?, ?)".formatted(table);
    }

    final List<String> lockedRow(Connection conn, String key) throws SQLException {
        return store.query(
                conn,
                "SELECT event_id FROM %s WHERE %s FOR UPDATE".formatted(table, isKey("")),
                binder -> bindKey(binder, key),
                row -> row.getString(1));
    }

    private void name(Connection conn, String key, String eventId) throws SQLException {
        // Binds: event_id, those of the key.
        String sql = "UPDATE %s SET event_id = ? WHERE %s".formatted(table, isKey(""));
        store.update(conn, sql, binder -> bindKey(binder.text(eventId), key));
    }

    /**
     * Whether the event that the locked row names is gone, or has ended and keeps the key no longer.
     *
     * <p>A transaction with a snapshot of its own would see how the event was when that was taken. There it is
     * locked, which shows how it is now. An event that was unfinished is not waited for, because a transaction that
     * writes outcomes may hold it and wait for this one; the transaction that holds it has not committed an end of the
     * event. One that had ended is waited for: the purge may be deleting it, and the key would be found taken by no
     * event.
     */
    private boolean isFree(Connection conn, String key, String named) throws SQLException {
        if (conn.getTransactionIsolation() <= Connection.TRANSACTION_READ_COMMITTED) {
            return hasEnded(conn, key, named, "").orElse(true);
        }
        if (isFreeInSnapshot(conn, key, named)) {
            return true;
        }
        Optional<Boolean> now = hasEnded(conn, key, named, "FOR UPDATE SKIP LOCKED");
        if (now.isPresent()) {
            return now.get();
        }
        boolean hadEnded = hasEnded(conn, key, named, "").orElse(false);
        return hadEnded && hasEnded(conn, key, named, "FOR UPDATE").orElse(true);
    }

    /** Whether the event has the key no longer; empty if there is no such event, or it is passed over. */
    final Optional<Boolean> hasEnded(Connection conn, String key, String eventId, String lock) throws SQLException {
        // Binds: key, event_id.
        String sql = """
                SELECT CASE WHEN e.dedup_key IS NULL OR e.dedup_key <> ? OR %s THEN 1 ELSE 0 END
                  FROM %s e
                 WHERE e.event_id = ?
                 %s
                """.formatted(isOver(conn), store.table(), lock);
        return store.query(conn, sql, binder -> binder.text(key).text(eventId), row -> row.getInt(1) == 1).stream()
                .findFirst();
    }

    /**
     * Whether the snapshot of the transaction is enough to tell that the event does not have the key any more. An
     * event that is gone must not be looked for with a lock: on MySQL and MariaDB that would lock a gap between
     * events. One that was inserted after the snapshot is not gone; the row of its key was written with it, so the
     * snapshot does not know that either.
     */
    boolean isFreeInSnapshot(Connection conn, String key, String named) throws SQLException {
        // Binds: those of the key, event_id.
        String sql = """
                SELECT k.event_id
                  FROM %s k
                 WHERE %s
                   AND k.event_id = ?
                   AND NOT EXISTS (SELECT 1 FROM %s e WHERE e.event_id = k.event_id)
                """.formatted(table, isKey("k."), store.table());
        return !store.query(conn, sql, binder -> bindKey(binder, key).text(named), row -> row.getString(1))
                .isEmpty();
    }

    /** The condition that event e has ended and keeps no key. */
    final String isOver(Connection conn) throws SQLException {
        TableShape shape = store.shape(conn);
        return "e.status = 3 OR e.status = 1 AND (e.dedup_ms IS NULL OR " + store.plusMillis("e.done_at", "e.dedup_ms")
                + " <= " + store.nowSql(shape.isZoned("done_at")) + ")";
    }

    // ---- asking who has a key ----

    /** The event that took the key last, if it is still there; only if it has the key, or whatever became of it. */
    Optional<Pending> find(Connection conn, String key, boolean hasIt) throws SQLException {
        // Binds: those of the key.
        String sql = """
                SELECT e.event_id, e.status, e.locked_by, e.dedup_key
                  FROM %s k
                  JOIN %s e ON e.event_id = k.event_id AND e.dedup_key = k.dedup_key
                 WHERE %s%s
                """.formatted(table, store.table(), isKey("k."), hasIt ? " AND NOT (" + isOver(conn) + ")" : "");
        return store
                .query(conn, sql, binder -> bindKey(binder, key), row -> ControlStatements.pending(row, true))
                .stream()
                .findFirst();
    }

    /** The id of the event that took the key last, from outside of the snapshot. The row of the key stays locked. */
    Optional<String> latest(Connection conn, String key) throws SQLException {
        return lockedRow(conn, key).stream().findFirst();
    }

    // ---- deleting ----

    /** Deletes the row of the key if it names the event; the caller has locked it. */
    final int delete(Connection conn, String key, String eventId) throws SQLException {
        // Binds: those of the key, event_id.
        String sql = "DELETE FROM %s WHERE %s AND event_id = ?".formatted(table, isKey(""));
        return store.update(conn, sql, binder -> bindKey(binder, key).text(eventId));
    }

    private record Named(String key, String eventId) {}

    /**
     * Deletes keys whose event is gone, or was delivered before the given time and keeps the key no longer. A key
     * that is locked is passed over. What was found is looked at again under the lock: another event may have taken
     * the key meanwhile. Returns the key behind which to go on.
     */
    Optional<String> purge(Connection conn, Instant doneBefore, String after, int limit) throws SQLException {
        if (!store.shape(conn).has("dedup_ms") || !exists(conn)) {
            return Optional.empty();
        }
        String isOrphan = """
                NOT EXISTS (SELECT 1 FROM %s e
                             WHERE e.event_id = k.event_id
                               AND e.dedup_key = k.dedup_key
                               AND NOT (e.status = 1 AND e.done_at < ? AND (%s)))
                """.formatted(store.table(), isOver(conn));
        // Binds: outbox_table, those of the condition, latest done_at, limit.
        String sql = """
                SELECT k.dedup_key, k.event_id
                  FROM %s k
                 WHERE k.outbox_table = ?
                   AND %s
                   AND %s
                 ORDER BY %s
                 LIMIT ?
                """.formatted(table, isBehind(), isOrphan, order());
        List<Named> orphans = store.query(
                conn,
                sql,
                binder -> bindBehind(binder.text(owner(store)), after)
                        .time("done_at", doneBefore)
                        .number(limit),
                row -> new Named(row.getString(1), row.getString(2)));
        // Binds: those of the key, event_id, latest done_at.
        String still = "SELECT 1 FROM %s k WHERE %s AND k.event_id = ? AND %s".formatted(table, isKey("k."), isOrphan);
        for (Named orphan : orphans) {
            if (lockUnlessLocked(conn, orphan.key())
                    && !store.query(
                                    conn,
                                    still,
                                    binder -> bindKey(binder, orphan.key())
                                            .text(orphan.eventId())
                                            .time("done_at", doneBefore),
                                    row -> row.getInt(1))
                            .isEmpty()) {
                delete(conn, orphan.key(), orphan.eventId());
            }
        }
        return orphans.size() < limit
                ? Optional.empty()
                : Optional.of(orphans.get(orphans.size() - 1).key());
    }

    /** Locks the row of the key; false if somebody has locked it, or it is gone. */
    boolean lockUnlessLocked(Connection conn, String key) throws SQLException {
        return !store.query(
                        conn,
                        "SELECT event_id FROM %s WHERE %s FOR UPDATE SKIP LOCKED".formatted(table, isKey("")),
                        binder -> bindKey(binder, key),
                        row -> row.getString(1))
                .isEmpty();
    }

    // ---- what a database may do in its own way ----

    /**
     * The keys of one call are taken by their places, and within a place by their text, so that two calls never wait
     * for each other.
     */
    int placeOf(String key) {
        return 0;
    }

    /** The columns that put the keys k of one table in the order of the primary key. */
    String order() {
        return "k.dedup_key";
    }

    /** The condition that a key k is behind another in {@link #order}. */
    String isBehind() {
        return "k.dedup_key > ?";
    }

    /** Binds what {@link #isBehind} asks for. */
    Binder bindBehind(Binder binder, String key) throws SQLException {
        return binder.text(key);
    }

    /** The condition that a row is that of a key. */
    String isKey(String prefix) {
        return "%1$soutbox_table = ? AND %1$sdedup_key = ?".formatted(prefix);
    }

    /** Binds what {@link #isKey} asks for. */
    Binder bindKey(Binder binder, String key) throws SQLException {
        return binder.text(owner(store)).text(key);
    }
}
