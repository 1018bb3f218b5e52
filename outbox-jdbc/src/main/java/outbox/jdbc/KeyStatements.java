package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.jdbc.internal.sql.Binder;
import outbox.jdbc.internal.sql.TableColumns;
import outbox.spi.EventControl.Pending;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * The keys of events, in a side table that all outbox tables of a schema share. A row names the event that took the
 * key last. The key is taken while that event is unfinished, or delivered and still keeping the key. A writer checks
 * the event to find out, so nothing is written here when an event ends.
 *
 * <p>A transaction that decides about a key first locks its row until the end of the transaction. This applies to a
 * write, a replay, a cancellation and the purge. The purge skips a locked row; the others wait. A write never waits
 * for an unfinished event. See ADR 49.
 */
class KeyStatements {

    // each retry means that a cancellation or the purge has just deleted the row
    private static final int MAX_TRIES = 10;

    static final String TABLE = "outbox_key";

    private final AbstractJdbcEventStore store;
    private final SideTable keys;
    private final TableName table;

    KeyStatements(AbstractJdbcEventStore store) {
        this.store = store;
        this.keys = new SideTable(
                store,
                TABLE,
                Capability.KEYS,
                "there are no keys for events",
                List.of("outbox_table", "dedup_key", "event_id"));
        this.table = keys.name();
    }

    final AbstractJdbcEventStore store() {
        return store;
    }

    final TableName table() {
        return table;
    }

    /** Refuses an operation that needs keys if there is no table for them. */
    void require(Connection conn, TableColumns shape, String consequence) throws SQLException {
        if (!shape.has("dedup_ms")) {
            throw Capability.KEYS.missingIn(store, "dedup_key", consequence);
        }
        keys.shape(conn);
    }

    /** Whether the table of keys, which exists, has everything that the migration creates. */
    boolean isComplete(Connection conn) throws SQLException {
        return true;
    }

    // ---- deciding which event has a key ----

    /**
     * The result of an attempt to take a key.
     *
     * @param made whether the key is taken now
     * @param former the event that took the key before, if any; if the key was not taken, the event that has it
     */
    record Take(boolean made, @Nullable String former) {}

    /** Takes the key for an event that is about to be inserted. */
    Take take(Connection conn, String key, String eventId) throws SQLException {
        String named = lock(conn, key, eventId);
        boolean free = named == null || isFree(conn, key, named);
        if (named != null && free) {
            name(conn, key, eventId);
        }
        return new Take(free, named);
    }

    /** Releases a key that the event took, in the same transaction. */
    void release(Connection conn, String key, String eventId, @Nullable String former) throws SQLException {
        if (former == null) {
            delete(conn, key, eventId);
        } else {
            name(conn, key, former);
        }
    }

    /** Takes the key for an event that is about to be replayed. Returns false if another event has it. */
    boolean takeAgain(Connection conn, String key, String eventId) throws SQLException {
        String named = lock(conn, key, eventId);
        if (named != null && !named.equals(eventId) && !isFree(conn, key, named)) {
            return false;
        }
        // Update the row even if it already names the event: PostgreSQL transactions with an old snapshot must
        // notice the change.
        name(conn, key, eventId);
        return true;
    }

    /**
     * Locks the row of the key and returns the id of the event that it names. If there is no row, inserts one that
     * names the given event and returns null.
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

    /** Returns false if the key already has a row. */
    final boolean insert(Connection conn, String key, String eventId) throws SQLException {
        String sql = insertSql() + " " + store.dialect().passOverDuplicate();
        try {
            return store.update(conn, sql, binder -> bindKey(binder, key).text(eventId)) > 0;
        } catch (SQLException e) {
            if (store.dialect().isDuplicateKey(e)) {
                return false;
            }
            throw e;
        }
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
     * Whether the event that the locked row names was deleted, or has ended and no longer keeps the key.
     *
     * <p>A transaction with a snapshot would see an old state of the event. So it locks the event, which returns the
     * current state. It does not wait for an unfinished event, because a transaction that writes outcomes may hold
     * that row and wait for this one; as long as it holds the row, it has not committed an end of the event. It does
     * wait for an event that had ended: the purge may be deleting that event, and the key would then seem to be
     * taken by an event that does not exist.
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

    /**
     * Whether the event no longer has the key. Empty if the event does not exist or was skipped because it
     * is locked.
     */
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
     * Whether the snapshot of the transaction already shows that the event no longer has the key. A deleted event
     * must not be searched with a lock, because on MySQL and MariaDB that would lock a gap between events. An event
     * that was inserted after the snapshot is not a deleted one: the row of its key was written in the same
     * transaction, so the snapshot does not contain that row either.
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

    /** Returns the condition that event e has ended and keeps no key. */
    final String isOver(Connection conn) throws SQLException {
        TableColumns shape = store.shape(conn);
        return "e.status = 3 OR e.status = 1 AND (e.dedup_ms IS NULL OR "
                + store.dialect().plusMillis("e.done_at", "e.dedup_ms") + " <= "
                + store.dialect().nowSql(shape.isZoned("done_at")) + ")";
    }

    // ---- finding the event of a key ----

    /**
     * Returns the event that took the key last, if it still exists.
     *
     * @param hasIt whether to return the event only if it still has the key
     */
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

    /**
     * Returns the id of the event that took the key last, ignoring the snapshot. The row of the key stays locked.
     */
    Optional<String> latest(Connection conn, String key) throws SQLException {
        return lockedRow(conn, key).stream().findFirst();
    }

    // ---- deleting ----

    /** Deletes the row of the key if it names the event. The caller has locked the row. */
    final int delete(Connection conn, String key, String eventId) throws SQLException {
        // Binds: those of the key, event_id.
        String sql = "DELETE FROM %s WHERE %s AND event_id = ?".formatted(table, isKey(""));
        return store.update(conn, sql, binder -> bindKey(binder, key).text(eventId));
    }

    private record Named(String key, String eventId) {}

    /**
     * Deletes keys whose event was deleted, or was delivered before the given time and no longer keeps the key.
     * Skips locked keys. Each key is checked again under its lock, because another event may have taken it. Returns
     * the key after which the next call continues.
     */
    Optional<String> purge(Connection conn, Instant doneBefore, String after, int limit) throws SQLException {
        if (!store.shape(conn).has("dedup_ms") || !keys.exists(conn)) {
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
                binder -> bindBehind(binder.text(keys.owner()), after)
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

    /** Locks the row of the key. Returns false if another transaction has locked it or it was deleted. */
    boolean lockUnlessLocked(Connection conn, String key) throws SQLException {
        return !store.query(
                        conn,
                        "SELECT event_id FROM %s WHERE %s FOR UPDATE SKIP LOCKED".formatted(table, isKey("")),
                        binder -> bindKey(binder, key),
                        row -> row.getString(1))
                .isEmpty();
    }

    // ---- database-specific behavior ----

    /**
     * Returns the position of a key in the locking order. The keys of one call are taken by position, then by text,
     * so that two calls cannot deadlock.
     */
    int placeOf(String key) {
        return 0;
    }

    /** Returns the columns that sort the keys k of one table in the order of the primary key. */
    String order() {
        return "k.dedup_key";
    }

    /** Returns the condition that a key k comes after another one in {@link #order}. */
    String isBehind() {
        return "k.dedup_key > ?";
    }

    /** Binds the parameters of {@link #isBehind}. */
    Binder bindBehind(Binder binder, String key) throws SQLException {
        return binder.text(key);
    }

    /** Returns the condition that a row belongs to a key. */
    String isKey(String prefix) {
        return "%1$soutbox_table = ? AND %1$sdedup_key = ?".formatted(prefix);
    }

    /** Binds the parameters of {@link #isKey}. */
    Binder bindKey(Binder binder, String key) throws SQLException {
        return binder.text(keys.owner()).text(key);
    }
}
