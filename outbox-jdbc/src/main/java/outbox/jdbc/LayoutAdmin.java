package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.admin.Backlog;
import outbox.admin.ClaimHolder;
import outbox.admin.EventCursor;
import outbox.admin.EventDetails;
import outbox.admin.EventFilter;
import outbox.admin.EventQuery;
import outbox.admin.EventSummary;
import outbox.admin.TypeCount;
import outbox.jdbc.JdbcTable.Binds;
import outbox.jdbc.JdbcTable.RowMapper;
import outbox.model.EventStatus;
import outbox.spi.Replay;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * What an operator does with a table of some layout. To read, the table is seen as one of ours, by a sub-select that names its columns as ours; so filters and lists are the same. A search
 * by status is not served by an index of the table, since there it is an expression.
 */
final class LayoutAdmin {

    private final LayoutEventStore store;
    private final TableLayout layout;
    private final LayoutSql sql;
    private final AbstractJdbcEventStore dialect;
    private volatile @Nullable TableShape seen; // the shape of the sub-select; reading it twice does no harm
    private final EndedIds ended = new EndedIds();

    LayoutAdmin(LayoutEventStore store, TableLayout layout, LayoutSql sql, AbstractJdbcEventStore dialect) {
        this.store = store;
        this.layout = layout;
        this.sql = sql;
        this.dialect = dialect;
    }

    List<TypeCount> countByType(Connection conn) {
        return store.run(
                "count events",
                () -> query(
                        conn,
                        "SELECT event_type, status, COUNT(*) AS events FROM " + asOurs()
                                + " GROUP BY event_type, status",
                        binder -> {},
                        row -> new TypeCount(
                                row.getString("event_type"), row.getInt("status"), row.getLong("events"))));
    }

    Backlog backlog(Connection conn) {
        String locked = layout.has(LayoutColumn.LOCKED_AT) ? "COUNT(" + sql.column(LayoutColumn.LOCKED_AT) + ")" : "0";
        String ifPending = "CASE WHEN " + sql.isPending() + " THEN ";
        String text = "SELECT COUNT(*) AS unpublished, COUNT(" + ifPending + "1 END) AS pending, " + locked
                + " AS locked, MIN(" + ifPending + sql.column(LayoutColumn.CREATED_AT) + " END) AS created_at, MIN("
                + ifPending + sql.dueTime() + " END) AS available_at FROM " + store.sqlName() + " WHERE "
                + sql.notDone();
        return store.run("read the backlog", () -> {
            TableShape shape = shape(conn);
            Instant now = store.now(conn);
            return query(conn, text, binder -> {}, row -> backlog(row, shape, now))
                    .get(0);
        });
    }

    private static Backlog backlog(ResultSet row, TableShape shape, Instant now) throws SQLException {
        return Backlog.of(
                now,
                row.getLong("pending"),
                row.getLong("locked"),
                shape.read(row, "created_at"),
                shape.read(row, "available_at"),
                row.getLong("unpublished"));
    }

    long countDead(Connection conn) {
        return store.run("count dead events", () -> TimedCount.of(conn, store.sqlName(), sql.is(EventStatus.DEAD)));
    }

    Optional<Instant> oldestPending(Connection conn) {
        String created = sql.column(LayoutColumn.CREATED_AT);
        String text = "SELECT MIN(" + created + ") AS created_at FROM " + store.sqlName() + " WHERE " + sql.isPending();
        return store.run("find the oldest pending event", () -> {
            TableShape shape = shape(conn);
            return query(conn, text, binder -> {}, row -> Optional.ofNullable(shape.read(row, "created_at")))
                    .get(0);
        });
    }

    Optional<EventDetails> find(Connection conn, String eventId) {
        return store.run("read event " + eventId, () -> {
            TableShape shape = shape(conn);
            if (store.possible(conn, List.of(eventId)).isEmpty()) {
                return Optional.empty();
            }
            // Binds: event_id, inside, where an index serves.
            String text = "SELECT " + AdminStatements.SUMMARY_COLUMNS + "last_error, " + dialect.wholeContent(shape)
                    + " FROM "
                    + asOurs(" WHERE " + sql.column(LayoutColumn.EVENT_ID) + " = "
                            + sql.parameter(store.shape(conn), LayoutColumn.EVENT_ID));
            return query(
                            conn,
                            text,
                            binder -> binder.text(eventId),
                            row -> AdminStatements.details(row, shape, dialect.whole(row, shape), List.of()))
                    .stream()
                    .findFirst();
        });
    }

    List<EventSummary> find(Connection conn, EventQuery query) {
        boolean oldestFirst = query.order() == EventQuery.Order.OLDEST_FIRST;
        FilterSql where = filter(query.filter());
        EventCursor after = query.after();
        if (after != null) {
            where.behind(after, oldestFirst);
        }
        String direction = oldestFirst ? "ASC" : "DESC";
        String text = "SELECT " + AdminStatements.SUMMARY_COLUMNS + "SUBSTRING(last_error, 1, "
                + EventSummary.MAX_ERROR_LENGTH + ") AS last_error FROM " + asOurs() + " " + where.sql()
                + " ORDER BY created_at " + direction + ", event_id " + direction + " LIMIT ?";
        return store.run("search events", () -> {
            TableShape shape = shape(conn);
            return query(
                    conn,
                    text,
                    binder -> {
                        where.bind(binder);
                        binder.number(query.pageSize());
                    },
                    row -> AdminStatements.summary(row, shape));
        });
    }

    long count(Connection conn, EventFilter filter) {
        FilterSql where = filter(filter);
        return store.run(
                "count events",
                () -> query(
                                conn,
                                "SELECT COUNT(*) FROM " + asOurs() + " " + where.sql(),
                                where::bind,
                                row -> row.getLong(1))
                        .get(0));
    }

    List<String> findIds(Connection conn, EventFilter filter, int limit) {
        FilterSql where = filter(filter);
        String text = "SELECT event_id FROM " + asOurs() + " " + where.sql() + " ORDER BY created_at, event_id LIMIT ?";
        return store.run(
                "find events",
                () -> query(
                        conn,
                        text,
                        binder -> {
                            where.bind(binder);
                            binder.number(limit);
                        },
                        row -> row.getString(1)));
    }

    private FilterSql filter(EventFilter filter) {
        if (filter.dedupKey() != null || filter.isInOrder()) {
            throw new EventStoreException(
                    "Table " + store.table() + " of layout '" + layout.name() + "' has neither keys nor an order",
                    null);
        }
        if (filter.claimedBy() != null) {
            requireTokens();
        }
        return new FilterSql(dialect, filter);
    }

    private void requireTokens() {
        if (!layout.has(LayoutColumn.LOCKED_BY)) {
            throw new EventStoreException(
                    "Table " + store.table() + " of layout '" + layout.name() + "' does not keep who claimed an event,"
                            + " so the claims of one node cannot be found. They end with their lease; a new leader"
                            + " takes them at once",
                    null);
        }
    }

    List<ClaimHolder> claimHolders(Connection conn) {
        if (!layout.has(LayoutColumn.LOCKED_AT)) {
            return List.of(); // its leader knows its claims alone
        }
        String lockedAt = sql.column(LayoutColumn.LOCKED_AT);
        String token = layout.has(LayoutColumn.LOCKED_BY) ? sql.column(LayoutColumn.LOCKED_BY) : "NULL";
        String group = layout.has(LayoutColumn.LOCKED_BY) ? " GROUP BY " + token : "";
        String text = "SELECT " + token + " AS locked_by, COUNT(*) AS events, MIN(" + lockedAt + ") AS oldest, MAX("
                + lockedAt + ") AS newest FROM " + store.sqlName() + " WHERE " + sql.isPending() + " AND " + lockedAt
                + " IS NOT NULL" + group;
        return store.run("read who holds claims", () -> {
            TableShape shape = shape(conn);
            return query(conn, text, binder -> {}, row -> AdminStatements.holder(row, shape)).stream()
                    .filter(holder -> holder.events() > 0) // without tokens it is counted in one row
                    .toList();
        });
    }

    /** The tokens stay, with leases that ended long ago. */
    int releaseClaims(Connection conn, Collection<String> eventIds, EventFilter claimed) {
        requireTokens();
        String node = Objects.requireNonNull(claimed.claimedBy());
        Instant before = Objects.requireNonNull(claimed.claimedBefore());
        String lockedBy = sql.column(LayoutColumn.LOCKED_BY);
        String lockedAt = sql.column(LayoutColumn.LOCKED_AT);
        LayoutFence.Piece over = store.fence().leaseOver();
        // Binds: lease, event ids, node, pattern, latest lock.
        return store.run(
                "release claims of " + eventIds.size() + " events",
                () -> store.updateIds(
                        conn,
                        "UPDATE %1$s SET " + over.sql() + " WHERE %2$s AND " + sql.isPending() + " AND (" + lockedBy
                                + " = ? OR " + lockedBy + " LIKE ? ESCAPE '!') AND " + lockedAt + " < ?",
                        store.possible(conn, eventIds),
                        over.binds(),
                        binder -> binder.text(node)
                                .text(node.replaceAll("([!%_])", "!$1") + "/%")
                                .time(sql.plain(LayoutColumn.LOCKED_AT), before)));
    }

    int makeDue(Connection conn, Collection<String> eventIds, Instant now) {
        String due = sql.column(LayoutColumn.AVAILABLE_AT);
        String free =
                layout.has(LayoutColumn.LOCKED_AT) ? " AND " + sql.column(LayoutColumn.LOCKED_AT) + " IS NULL" : "";
        String plain = sql.plain(LayoutColumn.AVAILABLE_AT);
        // Binds: due time, event ids, due time.
        return store.run(
                "make " + eventIds.size() + " events due",
                () -> store.updateIds(
                        conn,
                        "UPDATE %1$s SET " + due + " = ? WHERE %2$s AND " + sql.isPending() + free + " AND " + due
                                + " > ?",
                        store.possible(conn, eventIds),
                        binder -> binder.time(plain, now),
                        binder -> binder.time(plain, now)));
    }

    /** Pending again, with no attempt made. The rows are locked first, which tells how many there are. */
    int replay(Connection conn, List<String> eventIds, Replay how) {
        if (how.listener() != null) {
            throw new EventStoreException(
                    "Table " + store.table() + " of layout '" + layout.name()
                            + "' cannot replay an event to a listener by its name: a relay has one",
                    null);
        }
        return store.run("replay " + eventIds.size() + " events", () -> {
            Set<String> found = lock(conn, eventIds, how.from());
            TableShape shape = store.shape(conn);
            Instant now = store.now(conn);
            String text = "UPDATE " + store.sqlName() + " SET " + sql.reset()
                    + store.fence().letGo() + " WHERE " + sql.column(LayoutColumn.EVENT_ID) + " = "
                    + sql.parameter(shape, LayoutColumn.EVENT_ID);
            try (PreparedStatement update = conn.prepareStatement(text)) {
                for (int i = 0; i < eventIds.size(); i++) {
                    if (found.contains(eventIds.get(i))) {
                        Binder binder = new Binder(update, shape);
                        sql.bindReset(binder, how.dueAt(i), now);
                        binder.text(eventIds.get(i));
                        update.addBatch();
                    }
                }
                if (!found.isEmpty()) {
                    update.executeBatch();
                }
            }
            store.fence().forgetAll(found);
            return found.size();
        });
    }

    private Set<String> lock(Connection conn, Collection<String> eventIds, Set<EventStatus> from) throws SQLException {
        store.limits().require(conn); // it tells the dead events
        List<String> conditions = from.stream()
                .sorted()
                .map(status -> "(" + (status.isTerminal() ? sql.is(status) : sql.isRetryAndFree()) + ")")
                .toList();
        return store.queryIds(
                conn,
                "SELECT " + sql.column(LayoutColumn.EVENT_ID) + " FROM %1$s" + store.byId() + " WHERE %2$s AND ("
                        + String.join(" OR ", conditions) + ") FOR UPDATE",
                store.possible(conn, eventIds),
                binder -> {});
    }

    int discard(Connection conn, Collection<String> eventIds) {
        return store.run("discard " + eventIds.size() + " events", () -> {
            Set<String> dead = lock(conn, eventIds, Set.of(EventStatus.DEAD));
            store.deleteIds(conn, dead);
            return dead.size();
        });
    }

    /** Rows that others hold are passed over. */
    int purge(Connection conn, EventStatus terminal, Instant doneBefore, int limit) {
        if (!terminal.isTerminal()) {
            throw new IllegalArgumentException("Only DONE and DEAD events can be purged, not " + terminal);
        }
        if (terminal == EventStatus.DEAD) {
            store.limits().require(conn);
        }
        LayoutColumn end = sql.endTime(terminal);
        boolean locks =
                terminal == EventStatus.DEAD && sql.has(LayoutColumn.LOCKED_AT); // its last run may be under way
        String lockedAt = locks ? sql.column(LayoutColumn.LOCKED_AT) : "";
        // Binds: latest end, latest lock of a dead one.
        String isEnded = sql.is(terminal) + " AND " + sql.column(end) + " < ?"
                + (locks ? " AND (" + lockedAt + " IS NULL OR " + lockedAt + " < ?)" : "");
        JdbcTable.Binds binds = binder -> {
            binder.time(sql.plain(end), doneBefore);
            if (locks) {
                binder.time(sql.plain(LayoutColumn.LOCKED_AT), doneBefore);
            }
        };
        String select = "SELECT " + sql.column(LayoutColumn.EVENT_ID) + " FROM ";
        String oldestFirst = sql.isIndexed(end) ? " ORDER BY " + sql.column(end) : ""; // else it would sort them all
        return store.run(
                "purge " + terminal + " events",
                () -> ended.purge(
                        terminal,
                        limit,
                        most -> store.queryAnew(
                                conn,
                                select + store.sqlName() + " WHERE " + isEnded + oldestFirst + " LIMIT ?",
                                binder -> {
                                    binds.to(binder);
                                    binder.number(most);
                                },
                                row -> row.getString(1)),
                        ids -> {
                            Set<String> locked = store.queryIds(
                                    conn,
                                    select + "%1$s" + store.byId() + " WHERE %2$s AND " + isEnded
                                            + " FOR UPDATE SKIP LOCKED",
                                    ids,
                                    binds);
                            store.deleteIds(conn, locked);
                            return locked.size();
                        }));
    }

    // ---- the table as one of ours ----

    /** The sub-select. PostgreSQL and H2 see through it; MySQL too, since it neither groups nor limits. */
    private String asOurs() {
        return asOurs("");
    }

    private String asOurs(String where) {
        List<String> columns = new ArrayList<>();
        columns.add(text(LayoutColumn.EVENT_ID, "event_id"));
        columns.add(text(LayoutColumn.EVENT_TYPE, "event_type"));
        columns.add(text(LayoutColumn.AGGREGATE_TYPE, "aggregate_type"));
        columns.add(text(LayoutColumn.AGGREGATE_ID, "aggregate_id"));
        columns.add(text(LayoutColumn.TENANT_ID, "tenant_id"));
        columns.add(sql.column(LayoutColumn.PAYLOAD) + " AS payload");
        columns.add(text(LayoutColumn.HEADERS, "headers"));
        columns.add(sql.code() + " AS status");
        columns.add(sql.column(LayoutColumn.ATTEMPTS) + " AS attempts");
        columns.add(sql.dueTime() + " AS available_at");
        columns.add(sql.column(LayoutColumn.CREATED_AT) + " AS created_at");
        columns.add(time(LayoutColumn.DONE_AT, "done_at"));
        columns.add(time(LayoutColumn.LOCKED_AT, "locked_at"));
        columns.add(text(LayoutColumn.LOCKED_BY, "locked_by"));
        columns.add(text(LayoutColumn.LAST_ERROR, "last_error"));
        return "(SELECT " + String.join(", ", columns) + " FROM " + store.sqlName() + where + ") e";
    }

    private String text(LayoutColumn column, String name) {
        String type = dialect instanceof MySqlEventStore ? "CHAR" : "VARCHAR";
        return "CAST(" + (layout.has(column) ? sql.column(column) : "NULL") + " AS " + type + ") AS " + name;
    }

    private String time(LayoutColumn column, String name) {
        return (layout.has(column)
                        ? sql.column(column)
                        : "CASE WHEN 1 = 0 THEN " + sql.column(LayoutColumn.CREATED_AT) + " END")
                + " AS " + name;
    }

    private TableShape shape(Connection conn) throws SQLException {
        TableShape known = seen;
        if (known == null) {
            store.shape(conn); // refuses a table that is not of the layout
            store.limits().require(conn);
            known = TableShape.readAny(conn, asOurs());
            seen = known;
        }
        return known;
    }

    private <T> List<T> query(Connection conn, String text, Binds binds, RowMapper<T> mapper) throws SQLException {
        try (PreparedStatement select = conn.prepareStatement(text)) {
            binds.to(new Binder(select, shape(conn)));
            List<T> found = new ArrayList<>();
            try (ResultSet rows = select.executeQuery()) {
                while (rows.next()) {
                    found.add(mapper.map(rows));
                }
            }
            return found;
        }
    }
}
