package outbox.jdbc;

import outbox.admin.Attempt;
import outbox.admin.Backlog;
import outbox.admin.ClaimHolder;
import outbox.admin.EventCursor;
import outbox.admin.EventDetails;
import outbox.admin.EventFilter;
import outbox.admin.EventQuery;
import outbox.admin.EventQuery.Order;
import outbox.admin.EventSummary;
import outbox.admin.TypeCount;
import outbox.model.EventStatus;
import outbox.model.OutboxEvent;
import outbox.spi.Replay;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Optional;

/** The statements of an operator on the events of a table; the same for all databases. */
final class AdminStatements {

    static final String SUMMARY_COLUMNS =
            "event_id, event_type, aggregate_type, aggregate_id, tenant_id, status, attempts, available_at, created_at, done_at, locked_by, locked_at, ";

    private final AbstractJdbcEventStore store;
    private final ReplayStatements replays;
    private final AttemptStatements attempts;

    AdminStatements(AbstractJdbcEventStore store, AttemptStatements attempts) {
        this.store = store;
        this.attempts = attempts;
        this.replays = new ReplayStatements(store);
    }

    List<TypeCount> countByType(Connection conn) {
        String sql = """
                SELECT event_type, status, COUNT(*) AS events
                  FROM %s
                 GROUP BY event_type, status
                """.formatted(store.table());
        return store.run(
                "count events",
                () -> store.query(
                        conn,
                        sql,
                        binder -> {},
                        row -> new TypeCount(
                                row.getString("event_type"), row.getInt("status"), row.getLong("events"))));
    }

    Optional<Instant> oldestPending(Connection conn) {
        String sql = """
                SELECT MIN(created_at) AS created_at
                  FROM %s
                 WHERE status IN (0, 2)
                """.formatted(store.table());
        return store.run("find the oldest pending event", () -> {
            TableShape shape = store.shape(conn);
            return store.query(conn, sql, binder -> {}, row -> Optional.ofNullable(shape.read(row, "created_at")))
                    .get(0);
        });
    }

    Backlog backlog(Connection conn) {
        String sql = """
                SELECT COUNT(*) AS pending,
                       COUNT(locked_at) AS locked,
                       MIN(created_at) AS created_at,
                       MIN(available_at) AS available_at
                  FROM %s
                 WHERE status IN (0, 2)
                """.formatted(store.table());
        return store.run("read the backlog", () -> {
            TableShape shape = store.shape(conn);
            Instant now = store.now(conn);
            return store.query(conn, sql, binder -> {}, row -> backlog(row, shape, now))
                    .get(0);
        });
    }

    static Backlog backlog(ResultSet row, TableShape shape, Instant now) throws SQLException {
        return Backlog.of(
                now,
                row.getLong("pending"),
                row.getLong("locked"),
                shape.read(row, "created_at"),
                shape.read(row, "available_at"));
    }

    /** On PostgreSQL an index of the user's serves it: {@code ON outbox_event (done_at) WHERE status = 3}. */
    long countDead(Connection conn) {
        return store.run(
                "count dead events", () -> TimedCount.of(conn, store.table().value(), "status = 3"));
    }

    Optional<EventDetails> find(Connection conn, String eventId) {
        return store.run("read event " + eventId, () -> {
            TableShape shape = store.shape(conn);
            // Binds: event_id.
            String sql = """
                    SELECT %s, status, done_at, locked_by, locked_at, last_error
                      FROM %s
                     WHERE event_id = ?
                    """.formatted(store.columns(shape, "", ContentSql.Reading.WHOLE), store.table());
            List<Attempt> history = attempts.read(conn, eventId);
            return store
                    .query(
                            conn,
                            sql,
                            binder -> binder.text(eventId),
                            row -> details(row, shape, store.whole(row, shape), history))
                    .stream()
                    .findFirst();
        });
    }

    List<EventSummary> find(Connection conn, EventQuery query) {
        boolean oldestFirst = query.order() == Order.OLDEST_FIRST;
        FilterSql where = new FilterSql(store, query.filter());
        EventCursor after = query.after();
        if (after != null) {
            where.behind(after, oldestFirst);
        }
        return store.run("search events", () -> {
            refuseMissing(conn, query.filter());
            TableShape shape = store.shape(conn);
            // Binds: those of the conditions, page size.
            String sql = """
                    SELECT %1$s SUBSTRING(last_error, 1, %2$d) AS last_error%6$s
                      FROM %3$s
                     %4$s
                     ORDER BY created_at %5$s, event_id %5$s
                     LIMIT ?
                    """.formatted(
                            SUMMARY_COLUMNS,
                            EventSummary.MAX_ERROR_LENGTH,
                            store.table(),
                            where.sql(),
                            oldestFirst ? "ASC" : "DESC",
                            EventRows.control(shape));
            return store.query(
                    conn,
                    sql,
                    binder -> {
                        where.bind(binder);
                        binder.number(query.pageSize());
                    },
                    row -> summary(row, shape));
        });
    }

    long count(Connection conn, EventFilter filter) {
        FilterSql where = new FilterSql(store, filter);
        return store.run("count events", () -> {
            refuseMissing(conn, filter);
            String sql = "SELECT COUNT(*) FROM %s %s".formatted(store.table(), where.sql());
            return store.query(conn, sql, where::bind, row -> row.getLong(1)).get(0);
        });
    }

    /** Refuses a filter by a key where the table keeps none. */
    private void refuseMissing(Connection conn, EventFilter filter) throws SQLException {
        if (filter.dedupKey() != null && !store.shapeWith(conn, "dedup_key").has("dedup_key")) {
            throw Capability.CONTROL.missingIn(store, "dedup_key", "its events have no keys");
        }
    }

    /**
     * The oldest first: by their numbers where they have any, so that what is changed in portions never leaves a dead event before one of its aggregate that is pending again, and
     * would be parked behind it anew. One that was skipped has its number with a minus sign.
     */
    List<String> findIds(Connection conn, EventFilter filter, int limit) {
        FilterSql where = new FilterSql(store, filter);
        return store.run("find events", () -> {
            refuseMissing(conn, filter);
            boolean numbered = store.shapeWith(conn, OrderStatements.COLUMN).has(OrderStatements.COLUMN);
            // Binds: those of the conditions, limit.
            String sql = """
                    SELECT event_id
                      FROM %s
                     %s
                     ORDER BY %s
                     LIMIT ?
                    """.formatted(store.table(), where.sql(), numbered ? "ABS(seq)" : "created_at, event_id");
            return store.query(
                    conn,
                    sql,
                    binder -> {
                        where.bind(binder);
                        binder.number(limit);
                    },
                    row -> row.getString(1));
        });
    }

    int replay(Connection conn, List<String> eventIds, Replay how) {
        return store.run("replay " + eventIds.size() + " events", () -> replays.replay(conn, eventIds, how));
    }

    int discard(Connection conn, Collection<String> eventIds) {
        return store.run("discard " + eventIds.size() + " events", () -> store.deleteDead(conn, eventIds));
    }

    int purge(Connection conn, EventStatus terminal, Instant doneBefore, int limit) {
        if (!terminal.isTerminal()) {
            throw new IllegalArgumentException("Only DONE and DEAD events can be purged, not " + terminal);
        }
        return store.run(
                "purge " + terminal + " events", () -> store.deleteTerminal(conn, terminal, doneBefore, limit));
    }

    List<ClaimHolder> claimHolders(Connection conn) {
        String sql = """
                SELECT locked_by, COUNT(*) AS events, MIN(locked_at) AS oldest, MAX(locked_at) AS newest
                  FROM %s
                 WHERE status IN (0, 2)
                   AND locked_at IS NOT NULL
                 GROUP BY locked_by
                """.formatted(store.table());
        return store.run("read who holds claims", () -> {
            TableShape shape = store.shape(conn);
            return store.query(conn, sql, binder -> {}, row -> holder(row, shape));
        });
    }

    static ClaimHolder holder(ResultSet row, TableShape shape) throws SQLException {
        return new ClaimHolder(
                row.getString("locked_by"),
                row.getLong("events"),
                time(shape, row, "oldest"),
                time(shape, row, "newest"));
    }

    private static Instant time(TableShape shape, ResultSet row, String label) throws SQLException {
        Instant time = shape.read(row, "locked_at", label);
        return time == null ? Instant.EPOCH : time;
    }

    /** The tokens stay, with leases that ended long ago. */
    int releaseClaims(Connection conn, Collection<String> eventIds, EventFilter claimed) {
        FilterSql where = FilterSql.ofClaims(claimed);
        // Binds: locked_at, event ids, those of the conditions.
        return store.run(
                "release claims of " + eventIds.size() + " events",
                () -> store.updateIds(
                        conn,
                        "UPDATE %1$s SET locked_at = ? WHERE %2$s AND status + 0 IN (0, 2) AND " + where.conditions(),
                        eventIds,
                        binder -> binder.time("locked_at", LayoutFence.LONG_AGO),
                        where::bind));
    }

    int makeDue(Connection conn, Collection<String> eventIds, Instant now) {
        // Binds: available_at, event ids, available_at.
        return store.run(
                "make " + eventIds.size() + " events due",
                () -> store.updateIds(
                        conn,
                        "UPDATE %1$s SET available_at = ? WHERE %2$s AND status + 0 IN (0, 2) AND locked_by IS NULL"
                                + " AND available_at > ?",
                        eventIds,
                        binder -> binder.time("available_at", now),
                        binder -> binder.time("available_at", now)));
    }

    static EventDetails details(ResultSet row, TableShape shape, OutboxEvent event, List<Attempt> history)
            throws SQLException {
        return new EventDetails(summary(row, shape), event, row.getString("last_error"), history);
    }

    static EventSummary summary(ResultSet row, TableShape shape) throws SQLException {
        Instant availableAt = shape.read(row, "available_at");
        Instant createdAt = shape.read(row, "created_at");
        return new EventSummary(
                row.getString("event_id"),
                row.getString("event_type"),
                row.getString("aggregate_type"),
                row.getString("aggregate_id"),
                row.getString("tenant_id"),
                row.getInt("status"),
                row.getInt("attempts"),
                availableAt == null ? Instant.EPOCH : availableAt,
                createdAt == null ? Instant.EPOCH : createdAt,
                shape.read(row, "done_at"),
                row.getString("locked_by"),
                shape.read(row, "locked_at"),
                row.getString("last_error"),
                shape.has("dedup_key") ? row.getString("dedup_key") : null,
                shape.has("priority") ? row.getInt("priority") : 0, // NULL reads as 0
                shape.has("expires_at") ? shape.read(row, "expires_at") : null);
    }
}
