package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.admin.EventAdministration.Replay;
import outbox.admin.EventDetails;
import outbox.admin.EventFilter;
import outbox.jdbc.internal.claim.LayoutFence.Piece;
import outbox.jdbc.internal.row.ContentSql;
import outbox.jdbc.internal.row.EventRows;
import outbox.jdbc.internal.sql.Binder;
import outbox.jdbc.internal.sql.TableColumns;
import outbox.model.EventStatus;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The statements for administration of a table of any layout. For reading, a sub-select presents the table under the
 * column names of the standard table, so that filters and lists are the same. No index serves a search by status,
 * because the status is an expression in the sub-select.
 */
final class LayoutAdmin extends AdminStatements {

    private final LayoutEventStore store;
    private final TableLayout layout;
    private final LayoutSql sql;
    private final ContentSql content;
    // The columns of the sub-select. Two threads may both read them, which does no harm.
    private volatile @Nullable TableColumns seen;

    LayoutAdmin(LayoutEventStore store) {
        super(store);
        this.store = store;
        this.layout = store.layout();
        this.sql = store.sql();
        this.content = new ContentSql(store.dialect()::byteSize, "payload");
    }

    @Override
    Optional<EventDetails> find(Connection conn, String eventId) throws SQLException {
        TableColumns shape = shape(conn);
        if (store.possible(conn, List.of(eventId)).isEmpty()) {
            return Optional.empty();
        }
        List<ContentSql.Column> whole = List.of(
                new ContentSql.Column("payload", "payload", "payload", true),
                new ContentSql.Column("headers", "headers", "headers", false));
        // Binds: event_id, in the inner query, where an index serves it.
        String text = "SELECT " + SUMMARY_COLUMNS + "last_error, "
                + content.columns(shape, whole, ContentSql.Reading.WHOLE) + " FROM "
                + asOurs(" WHERE " + sql.column(LayoutColumn.EVENT_ID) + " = "
                        + sql.parameter(store.shape(conn), LayoutColumn.EVENT_ID));
        EventRows rows = new EventRows(store.dialect()::byteSize);
        return query(
                        conn,
                        text,
                        binder -> binder.text(eventId),
                        row -> details(row, shape, rows.whole(row, shape), List.of()))
                .stream()
                .findFirst();
    }

    @Override
    FilterSql filter(Connection conn, EventFilter filter) {
        if (filter.dedupKey() != null || filter.isInOrder()) {
            throw new EventStoreException(
                    "Table " + store.table() + " of layout '" + layout.name() + "' has neither keys nor an order",
                    null);
        }
        if (filter.claimedBy() != null) {
            requireTokens();
        }
        return new FilterSql(store.dialect(), filter);
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

    /** Makes events pending again with no attempts. Locks the rows first, which also determines their number. */
    @Override
    int replay(Connection conn, List<String> eventIds, Replay how) throws SQLException {
        if (how.listener() != null) {
            throw new EventStoreException(
                    "Table " + store.table() + " of layout '" + layout.name()
                            + "' cannot replay an event to a listener by its name: a relay has one",
                    null);
        }
        store.limits().require(conn); // the limit of attempts identifies dead events
        List<String> conditions = how.from().stream()
                .sorted()
                .map(status -> "(" + (status.isTerminal() ? sql.is(status) : sql.isRetryAndFree()) + ")")
                .toList();
        Set<String> found = lock(conn, eventIds, "(" + String.join(" OR ", conditions) + ")");
        TableColumns shape = store.shape(conn);
        Instant now = store.now(conn);
        String text = "UPDATE " + store.sqlName() + " SET " + sql.reset()
                + store.fence().letGo() + " WHERE " + store.idColumn() + " = "
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
    }

    @Override
    int releaseClaims(Connection conn, Collection<String> eventIds, EventFilter claimed) throws SQLException {
        requireTokens();
        return super.releaseClaims(conn, eventIds, claimed);
    }

    @Override
    int discard(Connection conn, Collection<String> eventIds) throws SQLException {
        store.limits().require(conn);
        return super.discard(conn, eventIds);
    }

    @Override
    Piece isEnded(Connection conn, EventStatus terminal, Instant doneBefore) {
        if (terminal == EventStatus.DEAD) {
            store.limits().require(conn);
        }
        LayoutColumn end = sql.endTime(terminal);
        // its last run may still be in progress
        boolean locks = terminal == EventStatus.DEAD && sql.has(LayoutColumn.LOCKED_AT);
        String lockedAt = locks ? sql.column(LayoutColumn.LOCKED_AT) : "";
        // Binds: latest end, latest lock of a dead event.
        return new Piece(
                sql.is(terminal) + " AND " + sql.column(end) + " < ?"
                        + (locks ? " AND (" + lockedAt + " IS NULL OR " + lockedAt + " < ?)" : ""),
                binder -> {
                    binder.time(sql.plain(end), doneBefore);
                    if (locks) {
                        binder.time(sql.plain(LayoutColumn.LOCKED_AT), doneBefore);
                    }
                });
    }

    // ---- the table under the names of the standard table ----

    /**
     * Returns the sub-select. PostgreSQL and H2 merge it into the outer query. MySQL does too, because it has no
     * GROUP BY and no LIMIT.
     */
    @Override
    String from() {
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
        String value = layout.has(column) ? sql.column(column) : "NULL";
        return "CAST(" + value + " AS " + store.dialect().textType() + ") AS " + name;
    }

    private String time(LayoutColumn column, String name) {
        return (layout.has(column)
                        ? sql.column(column)
                        : "CASE WHEN 1 = 0 THEN " + sql.column(LayoutColumn.CREATED_AT) + " END")
                + " AS " + name;
    }

    @Override
    TableColumns shape(Connection conn) throws SQLException {
        TableColumns known = seen;
        if (known == null) {
            store.shape(conn); // refuses a table that does not have this layout
            store.limits().require(conn);
            known = TableColumns.readAny(conn, from());
            seen = known;
        }
        return known;
    }
}
