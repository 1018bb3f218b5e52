package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.admin.EventAdministration.Replay;
import outbox.jdbc.internal.sql.Binder;
import outbox.jdbc.internal.sql.TableColumns;
import outbox.model.EventStatus;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The statements that make finished events pending again, and unclaimed RETRY events due at once. The keys of the
 * events are taken first, in the same order as a writer, which locks its key before it checks an event. An event
 * whose key belongs to another event is not changed. Then the rows are locked. This determines their number and
 * returns their headers, to which the marks of the replay are added. An old deadline is removed, because the
 * operator wants a delivery now.
 */
final class ReplayStatements {

    private final AbstractJdbcEventStore store;

    ReplayStatements(AbstractJdbcEventStore store) {
        this.store = store;
    }

    /** The values of an event that a replay needs. */
    private record Row(
            String eventId,
            @Nullable String headers,
            @Nullable String dedupKey) {}

    int replay(Connection conn, List<String> eventIds, Replay how) throws SQLException {
        TableColumns shape = store.shape(conn);
        Set<String> refused = shape.has("dedup_ms") ? takeKeys(conn, shape, eventIds, how) : Set.of();
        Map<String, Row> rows = find(conn, shape, eventIds, how, "FOR UPDATE");
        int replayed = 0;
        try (PreparedStatement update = conn.prepareStatement(sql(shape, how))) {
            for (int i = 0; i < eventIds.size(); i++) {
                Row row = rows.get(eventIds.get(i));
                if (row != null && !refused.contains(row.eventId())) {
                    bind(new Binder(update, shape), row, how.dueAt(i), how);
                    update.addBatch();
                    replayed++;
                }
            }
            if (replayed > 0) {
                update.executeBatch(); // the counts are not used, because not every driver reports them
            }
        }
        return replayed;
    }

    /**
     * Takes the keys of the events, in the order of {@link KeyStatements#placeOf}. If several events have the same
     * key, the first one that can take the key gets it.
     *
     * @return the ids of the events that do not get their key
     */
    private Set<String> takeKeys(Connection conn, TableColumns shape, List<String> eventIds, Replay how)
            throws SQLException {
        Map<String, Row> rows = find(conn, shape, eventIds, how, "");
        Map<String, List<String>> byKey =
                new TreeMap<>(Comparator.comparing(store.keys()::placeOf).thenComparing(Comparator.naturalOrder()));
        for (String id : eventIds) {
            Row row = rows.get(id);
            if (row != null && row.dedupKey() != null) {
                byKey.computeIfAbsent(row.dedupKey(), any -> new ArrayList<>()).add(id);
            }
        }
        if (!byKey.isEmpty()) {
            store.keys().require(conn, shape, "events with a key cannot be replayed");
        }
        Set<String> refused = new HashSet<>();
        for (Map.Entry<String, List<String>> one : byKey.entrySet()) {
            boolean taken = false;
            for (String id : one.getValue()) { // the second event may have the key, so that the first one is refused
                if (!taken && store.keys().takeAgain(conn, one.getKey(), id)) {
                    taken = true;
                } else {
                    refused.add(id);
                }
            }
        }
        return refused;
    }

    private Map<String, Row> find(Connection conn, TableColumns shape, List<String> eventIds, Replay how, String lock)
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
                       AND (status <> 2 OR locked_at IS NULL)
                     %s
                    """.formatted(
                            keys ? ", dedup_key" : "",
                            store.table(),
                            store.byPrimaryKey(),
                            store.idCondition(some.size()),
                            codes(how),
                            lock);
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

    /**
     * Binds: available_at, headers, event_id. The error comes first, because it depends on the old status, and MySQL
     * assigns columns from left to right.
     */
    private String sql(TableColumns shape, Replay how) {
        return """
                UPDATE %s
                   SET last_error = CASE WHEN status = 1 THEN NULL ELSE last_error END,
                       status = CASE WHEN status = 2 THEN 2 ELSE 0 END, attempts = 0, available_at = ?, headers = %s,
                       done_at = NULL, locked_by = NULL, locked_at = NULL%s
                 WHERE event_id = ?
                   AND status IN (%s)
                """.formatted(
                        store.table(),
                        store.dialect().jsonParameter(shape.typeOf("headers")),
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
