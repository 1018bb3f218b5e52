package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.model.EventStatus;
import outbox.spi.Replay;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The statements that make finished events pending again. The rows are locked first, which tells how many there are, and gives their headers, to which the marks of the replay are
 * added. What has a key is tried by itself: another event may have it by now. A deadline is over, and says nothing about what an operator wants.
 */
final class ReplayStatements {

    private final AbstractJdbcEventStore store;

    ReplayStatements(AbstractJdbcEventStore store) {
        this.store = store;
    }

    /** What a replay needs of an event. */
    private record Row(
            String eventId,
            @Nullable String headers,
            @Nullable String dedupKey) {}

    int replay(Connection conn, List<String> eventIds, Replay how) throws SQLException {
        TableShape shape = store.shape(conn);
        Map<String, Row> rows = lock(conn, shape, eventIds, how);
        String sql = sql(shape, how);
        int keyed = 0;
        int others = 0;
        try (PreparedStatement update = conn.prepareStatement(sql)) {
            for (int i = 0; i < eventIds.size(); i++) {
                Row row = rows.get(eventIds.get(i));
                if (row == null) {
                    continue;
                }
                Instant due = how.dueAt(i);
                String key = row.dedupKey();
                if (key == null) {
                    bind(new Binder(update, shape), row, due, how);
                    update.addBatch();
                    others++;
                } else if (store.keys().takeAgain(conn, key, row.eventId())) {
                    keyed += store.update(conn, sql, binder -> bind(binder, row, due, how));
                }
            }
            if (others > 0) {
                update.executeBatch(); // its counts are not asked for: not every driver knows them
            }
        }
        return keyed + others;
    }

    private Map<String, Row> lock(Connection conn, TableShape shape, List<String> eventIds, Replay how)
            throws SQLException {
        boolean keys = shape.has("dedup_ms");
        Map<String, Row> rows = new HashMap<>();
        for (List<String> some : store.portions(eventIds)) {
            // Binds: ids.
            String sql = """
                    SELECT event_id, headers%s
                      FROM %s%s
                     WHERE %s
                       AND status IN (%s)
                       FOR UPDATE
                    """.formatted(
                            keys ? ", dedup_key" : "",
                            store.table(),
                            store.byPrimaryKey(),
                            store.idCondition(some.size()),
                            codes(how));
            List<Row> found = store.queryAnew(
                    conn,
                    sql,
                    binder -> store.bindIds(binder, some),
                    row -> new Row(
                            row.getString("event_id"),
                            row.getString("headers"),
                            keys ? row.getString("dedup_key") : null));
            found.forEach(row -> rows.put(row.eventId(), row));
        }
        return rows;
    }

    /** Binds: available_at, headers, event_id. The error comes first: MySQL sets one column after the other, and it depends on the status. */
    private String sql(TableShape shape, Replay how) {
        return """
                UPDATE %s
                   SET last_error = CASE WHEN status = 1 THEN NULL ELSE last_error END,
                       status = 0, attempts = 0, available_at = ?, headers = %s,
                       done_at = NULL, locked_by = NULL, locked_at = NULL%s
                 WHERE event_id = ?
                   AND status IN (%s)
                """.formatted(
                        store.table(),
                        store.jsonParameter(shape.typeOf("headers")),
                        shape.has("expires_at") ? ", expires_at = NULL" : "",
                        codes(how));
    }

    private static void bind(Binder binder, Row row, Instant due, Replay how) throws SQLException {
        binder.time("available_at", due).text(how.mark(row.headers())).text(row.eventId());
    }

    private static String codes(Replay how) {
        return how.from().stream()
                .map(EventStatus::code)
                .sorted()
                .map(String::valueOf)
                .collect(Collectors.joining(", "));
    }
}
