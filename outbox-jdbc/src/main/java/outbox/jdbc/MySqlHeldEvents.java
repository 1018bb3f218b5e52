package outbox.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Collection;
import java.util.HashSet;
import java.util.Set;

/** Statements on events that a claim holds, in the standard table on MySQL and MariaDB. */
final class MySqlHeldEvents extends HeldEventStatements {

    MySqlHeldEvents(AbstractJdbcEventStore store) {
        super(store, false);
    }

    /**
     * Marks an event with a key as DONE instead of deleting it, and leaves the deletion to the purge. A writer that
     * searches for a deleted row would lock a gap between events and block inserts of other writers.
     */
    @Override
    Set<String> delete(Connection conn, String token, Collection<String> eventIds) throws SQLException {
        if (!store.shape(conn).has("dedup_key")) {
            return super.delete(conn, token, eventIds);
        }
        Set<String> held = new HashSet<>(lock(conn, token, eventIds, " AND dedup_key IS NULL"));
        store.delete(conn, held);
        if (held.size() < eventIds.size()) {
            Set<String> keyed = lock(conn, token, eventIds, "");
            store.updateIds(
                    conn,
                    "UPDATE %1$s SET status = 1, done_at = UTC_TIMESTAMP(6), locked_by = NULL, locked_at = NULL"
                            + " WHERE %2$s",
                    keyed,
                    binder -> {},
                    binder -> {});
            held.addAll(keyed);
        }
        return held;
    }
}
