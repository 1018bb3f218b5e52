package outbox.jdbc;

import outbox.admin.Backlog;
import outbox.admin.EventAdministration.ClaimHolder;
import outbox.admin.EventAdministration.Replay;
import outbox.admin.EventDetails;
import outbox.admin.EventDetails.Attempt;
import outbox.admin.EventFilter;
import outbox.admin.EventQuery;
import outbox.admin.EventQuery.Order;
import outbox.admin.EventSummary;
import outbox.admin.OutboxStatistics.TypeCount;
import outbox.jdbc.internal.claim.LayoutFence.Piece;
import outbox.jdbc.internal.purge.EndedIds;
import outbox.jdbc.internal.row.EventRows;
import outbox.jdbc.internal.sql.Binder;
import outbox.jdbc.internal.sql.Binds;
import outbox.jdbc.internal.sql.RowMapper;
import outbox.jdbc.internal.sql.TableColumns;
import outbox.model.EventStatus;
import outbox.model.OutboxEvent;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/** The statements for administration of the events of a table. They are the same for all databases. */
abstract class AdminStatements {

    static final String SUMMARY_COLUMNS =
            "event_id, event_type, aggregate_type, aggregate_id, tenant_id, status, attempts, available_at, created_at,"
                    + " done_at, locked_by, locked_at, ";

    private final TableEventStore store;
    private final LayoutSql words;
    private final EndedIds ended = new EndedIds();

    AdminStatements(TableEventStore store) {
        this.store = store;
        this.words = store.sql();
    }

    /** Returns the expression for a FROM clause that presents the table under the names of the standard table. */
    abstract String from();

    /** Returns the columns of {@link #from}. */
    abstract TableColumns shape(Connection conn) throws SQLException;

    /**
     * Returns the conditions of a filter on {@link #from}.
     *
     * @throws EventStoreException if the filter uses a column that the table does not have
     */
    abstract FilterSql filter(Connection conn, EventFilter filter) throws SQLException;

    abstract Optional<EventDetails> find(Connection conn, String eventId) throws SQLException;

    abstract int replay(Connection conn, List<String> eventIds, Replay how) throws SQLException;

    /** Returns the condition that an event ended before the given time, for a purge. */
    abstract Piece isEnded(Connection conn, EventStatus terminal, Instant doneBefore) throws SQLException;

    List<TypeCount> countByType(Connection conn) throws SQLException {
        return query(
                conn,
                "SELECT event_type, status, COUNT(*) AS events FROM " + from() + " GROUP BY event_type, status",
                binder -> {},
                row -> new TypeCount(row.getString("event_type"), row.getInt("status"), row.getLong("events")));
    }

    Optional<Instant> oldestPending(Connection conn) throws SQLException {
        String sql = "SELECT MIN(" + words.column(LayoutColumn.CREATED_AT) + ") AS created_at FROM " + store.sqlName()
                + " WHERE " + words.isPending();
        TableColumns shape = shape(conn);
        return query(conn, sql, binder -> {}, row -> Optional.ofNullable(shape.read(row, "created_at")))
                .get(0);
    }

    Backlog backlog(Connection conn) throws SQLException {
        TableColumns shape = shape(conn);
        Instant now = store.now(conn);
        // COUNT and MIN of a CASE, because some layouts keep dead events among those that are not delivered.
        String sql = """
                SELECT COUNT(*) AS unpublished,
                       COUNT(%1$s1 END) AS pending,
                       %2$s AS locked,
                       MIN(%1$s%3$s END) AS created_at,
                       MIN(%1$s%4$s END) AS available_at
                  FROM %5$s
                 WHERE %6$s
                """.formatted(
                        "CASE WHEN " + words.isPending() + " THEN ",
                        words.has(LayoutColumn.LOCKED_AT) ? "COUNT(" + words.column(LayoutColumn.LOCKED_AT) + ")" : "0",
                        words.column(LayoutColumn.CREATED_AT),
                        words.dueTime(),
                        store.sqlName(),
                        words.notDone());
        return query(conn, sql, binder -> {}, row -> backlog(row, shape, now)).get(0);
    }

    private static Backlog backlog(ResultSet row, TableColumns shape, Instant now) throws SQLException {
        return Backlog.of(
                now,
                row.getLong("pending"),
                row.getLong("locked"),
                shape.read(row, "created_at"),
                shape.read(row, "available_at"),
                row.getLong("unpublished"));
    }

    List<EventSummary> find(Connection conn, EventQuery query) throws SQLException {
        boolean oldestFirst = query.order() == Order.OLDEST_FIRST;
        FilterSql where = filter(conn, query.filter());
        EventQuery.Cursor after = query.after();
        if (after != null) {
            where.behind(after, oldestFirst);
        }
        TableColumns shape = shape(conn);
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
                        from(),
                        where.sql(),
                        oldestFirst ? "ASC" : "DESC",
                        EventRows.control(shape));
        return query(conn, sql, limited(where, query.pageSize()), row -> summary(row, shape));
    }

    long count(Connection conn, EventFilter filter) throws SQLException {
        FilterSql where = filter(conn, filter);
        String sql = "SELECT COUNT(*) FROM " + from() + " " + where.sql();
        return query(conn, sql, where::bind, row -> row.getLong(1)).get(0);
    }

    List<String> findIds(Connection conn, EventFilter filter, int limit) throws SQLException {
        FilterSql where = filter(conn, filter);
        // Binds: those of the conditions, limit.
        String sql =
                "SELECT event_id FROM " + from() + " " + where.sql() + " ORDER BY " + oldestFirst(conn) + " LIMIT ?";
        return query(conn, sql, limited(where, limit), row -> row.getString(1));
    }

    /** Returns the columns of {@link #from} that sort the oldest events first. */
    String oldestFirst(Connection conn) throws SQLException {
        return "created_at, event_id";
    }

    private static Binds limited(FilterSql where, int limit) {
        return binder -> {
            where.bind(binder);
            binder.number(limit);
        };
    }

    int discard(Connection conn, Collection<String> eventIds) throws SQLException {
        Set<String> dead = lock(conn, eventIds, words.is(EventStatus.DEAD));
        store.delete(conn, dead);
        return dead.size();
    }

    /**
     * Locks the rows and waits for rows that a claim has locked for a moment. To skip them would change fewer events
     * than the caller asked for.
     */
    final Set<String> lock(Connection conn, Collection<String> eventIds, String condition) throws SQLException {
        return lock(conn, eventIds, new Piece(condition, binder -> {}), "");
    }

    private Set<String> lock(Connection conn, Collection<String> eventIds, Piece condition, String how)
            throws SQLException {
        // also reads the columns of the table, which the index hint needs
        Collection<String> ids = store.possible(conn, eventIds);
        return store.queryIds(
                conn,
                "SELECT " + store.idColumn() + " FROM %1$s" + store.byPrimaryKey() + " WHERE %2$s AND "
                        + condition.sql() + " FOR UPDATE" + how,
                ids,
                condition.binds());
    }

    /** Skips rows that other transactions have locked. */
    int purge(Connection conn, EventStatus terminal, Instant doneBefore, int limit) throws SQLException {
        if (!terminal.isTerminal()) {
            throw new IllegalArgumentException("Only DONE and DEAD events can be purged, not " + terminal);
        }
        Piece isEnded = isEnded(conn, terminal, doneBefore);
        return ended.purge(terminal, limit, most -> findEnded(conn, terminal, isEnded, doneBefore, most), ids -> {
            Set<String> locked = lock(conn, ids, isEnded, " SKIP LOCKED");
            store.delete(conn, locked);
            return locked.size();
        });
    }

    /** Returns the ids of up to {@code limit} events that ended before the given time. */
    List<String> findEnded(Connection conn, EventStatus terminal, Piece isEnded, Instant doneBefore, int limit)
            throws SQLException {
        LayoutColumn end = words.endTime(terminal);
        // without an index, ORDER BY would sort all rows
        String oldestFirst = words.isIndexed(end) ? " ORDER BY " + words.column(end) : "";
        // Binds: those of the condition, limit.
        return store.queryAnew(
                conn,
                "SELECT " + store.idColumn() + " FROM " + store.sqlName() + " WHERE " + isEnded.sql() + oldestFirst
                        + " LIMIT ?",
                binder -> {
                    isEnded.binds().to(binder);
                    binder.number(limit);
                },
                row -> row.getString(1));
    }

    List<ClaimHolder> claimHolders(Connection conn) throws SQLException {
        if (!words.has(LayoutColumn.LOCKED_AT)) {
            return List.of(); // the leader keeps its claims in memory
        }
        boolean tokens = words.has(LayoutColumn.LOCKED_BY);
        String token = tokens ? words.column(LayoutColumn.LOCKED_BY) : "NULL";
        String sql = """
                SELECT %1$s AS locked_by, COUNT(*) AS events, MIN(%2$s) AS oldest, MAX(%2$s) AS newest
                  FROM %3$s
                 WHERE %4$s
                   AND %2$s IS NOT NULL
                 %5$s
                """.formatted(
                        token,
                        words.column(LayoutColumn.LOCKED_AT),
                        store.sqlName(),
                        words.isPending(),
                        tokens ? "GROUP BY " + token : "");
        TableColumns shape = shape(conn);
        return query(conn, sql, binder -> {}, row -> holder(row, shape)).stream()
                .filter(holder -> holder.events() > 0) // without tokens, all events are counted in one row
                .toList();
    }

    private static ClaimHolder holder(ResultSet row, TableColumns shape) throws SQLException {
        return new ClaimHolder(
                row.getString("locked_by"),
                row.getLong("events"),
                time(shape, row, "oldest"),
                time(shape, row, "newest"));
    }

    private static Instant time(TableColumns shape, ResultSet row, String label) throws SQLException {
        Instant time = shape.read(row, "locked_at", label);
        return time == null ? Instant.EPOCH : time;
    }

    /** Keeps the tokens and sets a lease that ended long ago. */
    int releaseClaims(Connection conn, Collection<String> eventIds, EventFilter claimed) throws SQLException {
        String node = Objects.requireNonNull(claimed.claimedBy());
        Instant before = Objects.requireNonNull(claimed.claimedBefore());
        Piece over = store.fence().leaseOver();
        // Binds: lease, event ids, node, pattern, latest lock.
        return store.updateIds(
                conn,
                "UPDATE %%1$s SET %1$s WHERE %%2$s AND %2$s AND (%3$s = ? OR %3$s LIKE ? ESCAPE '!') AND %4$s < ?"
                        .formatted(
                                over.sql(),
                                words.isPendingById(),
                                words.column(LayoutColumn.LOCKED_BY),
                                words.column(LayoutColumn.LOCKED_AT)),
                store.possible(conn, eventIds),
                over.binds(),
                binder -> binder.text(node)
                        .text(FilterSql.ofNode(node))
                        .time(words.plain(LayoutColumn.LOCKED_AT), before));
    }

    int makeDue(Connection conn, Collection<String> eventIds, Instant now) throws SQLException {
        String due = words.column(LayoutColumn.AVAILABLE_AT);
        String plain = words.plain(LayoutColumn.AVAILABLE_AT);
        // Binds: due time, event ids, due time.
        return store.updateIds(
                conn,
                "UPDATE %1$s SET " + due + " = ? WHERE %2$s AND " + words.isFreeById() + " AND " + due + " > ?",
                store.possible(conn, eventIds),
                binder -> binder.time(plain, now),
                binder -> binder.time(plain, now));
    }

    final <T> List<T> query(Connection conn, String sql, Binds binds, RowMapper<T> mapper) throws SQLException {
        try (PreparedStatement select = conn.prepareStatement(sql)) {
            binds.to(new Binder(select, shape(conn)));
            try (ResultSet rows = select.executeQuery()) {
                return RowMapper.all(rows, mapper);
            }
        }
    }

    static EventDetails details(ResultSet row, TableColumns shape, OutboxEvent event, List<Attempt> history)
            throws SQLException {
        return new EventDetails(summary(row, shape), event, row.getString("last_error"), history);
    }

    private static EventSummary summary(ResultSet row, TableColumns shape) throws SQLException {
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
