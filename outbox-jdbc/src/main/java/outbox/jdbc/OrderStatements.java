package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.AggregateType;
import outbox.jdbc.internal.sql.Binder;
import outbox.jdbc.internal.sql.TableColumns;
import outbox.order.Ordering;
import outbox.order.Ordering.WhenDead;
import outbox.spi.EventOrder.BlockedAggregate;
import outbox.spi.EventOrder.Position;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The statements about the order of events, which the column {@value #COLUMN} defines. Only positive numbers are
 * positions in an order.
 *
 * <p>Each query about other events of an aggregate handles one status at a time and reads the first or last row of
 * the index (aggregate_type, aggregate_id, status, seq). So its cost does not depend on the history or the queue
 * length of the aggregate. It is a scalar sub-select with LIMIT 1. A planner may turn EXISTS into a join of all rows
 * with all rows. ORDER BY contains all columns of the index; otherwise MySQL sorts.
 *
 * <p>A row without an aggregate type, which other programs may write, belongs to {@link AggregateType#GLOBAL}. The
 * index stores it under NULL, so an event of that type needs two queries: one for rows with the type and one for
 * rows without it. An OR could not use the index. Events of other types have no extra cost.
 */
final class OrderStatements {

    /** The column whose number defines the order. */
    static final String COLUMN = "seq";

    private static final String TYPE = "COALESCE(%s.aggregate_type, '" + AggregateType.GLOBAL.name() + "')";

    private static final String IS_GLOBAL =
            "(%1$s.aggregate_type IS NULL OR %1$s.aggregate_type = '" + AggregateType.GLOBAL.name() + "')";

    /**
     * The rows p of the aggregate of e that a sub-select reads: those with the type of e, or those without a type.
     */
    private enum Rows {
        TYPED("p.aggregate_type = " + TYPE.formatted("e")),
        UNTYPED("p.aggregate_type IS NULL");

        final String condition;

        Rows(String condition) {
            this.condition = condition;
        }

        /** Wraps the sub-select so that it is NULL unless the aggregate of e may have such rows. */
        String look(String subSelect) {
            return this == TYPED ? subSelect : "CASE WHEN " + IS_GLOBAL.formatted("e") + " THEN " + subSelect + " END";
        }
    }

    private final AbstractJdbcEventStore store;
    private volatile @Nullable String hint; // Read once. Two threads may both read it, which does no harm.

    OrderStatements(AbstractJdbcEventStore store) {
        this.store = store;
    }

    /** Identifies a statement, with everything besides the table that its text depends on. */
    record Text(String statement, boolean ordered, int types, boolean typesAreExceptions, boolean deadBlocks, int ids) {

        static Text of(String statement, Ordering ordering, int ids) {
            boolean deadBlocks = ordering.whenDead() == WhenDead.BLOCK;
            return new Text(
                    statement,
                    ordering.isOn(),
                    ordering.types().size(),
                    ordering.typesAreExceptions(),
                    deadBlocks,
                    ids);
        }
    }

    /**
     * Returns the columns of a table that has the order column. Reads the columns again before it refuses the table.
     */
    TableColumns require(Connection conn) throws SQLException {
        TableColumns shape = store.shapeWith(conn, COLUMN);
        if (!shape.has(COLUMN)) {
            throw Capability.ORDER.missingIn(store, COLUMN, "its events have no order");
        }
        if (hint == null) {
            hint = store.dialect().indexHint(conn, store.table(), "aggregate_type,aggregate_id,status,seq");
        }
        return shape;
    }

    // ---- claiming ----

    /**
     * Returns the condition that event e has no unfinished predecessor, and no dead one if dead events block. It is
     * true for an event without an aggregate id, which belongs to no aggregate. It is also true for an event that
     * was skipped, because its number is below all others. Binds: see {@link #bindNext}.
     */
    String isNext(Ordering ordering) {
        String next = isNotBehind(ordering, 0) + " AND " + isNotBehind(ordering, 2)
                + (ordering.whenDead() == WhenDead.BLOCK ? " AND " + isNotBehind(ordering, 3) : "");
        return ordering.types().isEmpty() ? next : "(NOT " + isOrdered("e", ordering) + " OR " + next + ")";
    }

    void bindNext(Binder binder, Ordering ordering) throws SQLException {
        bindTypes(binder, ordering, ordering.whenDead() == WhenDead.BLOCK ? 7 : 5);
    }

    private String isNotBehind(Ordering ordering, int status) {
        return "COALESCE(" + first(Rows.TYPED, ordering, status) + ", e.seq) >= e.seq AND COALESCE("
                + Rows.UNTYPED.look(first(Rows.UNTYPED, ordering, status)) + ", e.seq) >= e.seq";
    }

    // ---- positions ----

    Map<String, Position> positions(Connection conn, Collection<String> eventIds, Ordering ordering) {
        return store.run("find the places of " + eventIds.size() + " events", () -> {
            TableColumns shape = require(conn);
            Map<String, Position> positions = new HashMap<>();
            for (List<String> some : store.portions(eventIds)) {
                String sql = shape.text(
                        Text.of("positions", ordering, store.idsInArray() ? 0 : some.size()),
                        () -> positionsSql(ordering, some.size()));
                store.queryByIndex(
                        conn,
                        sql,
                        binder -> {
                            bindTypes(binder, ordering, store.dialect().findsLastDirectly() ? 6 : 12);
                            store.bindIds(binder, some);
                        },
                        row -> positions.put(row.getString("event_id"), position(row)));
            }
            return positions;
        });
    }

    /** Binds: the types for each sub-select, ids. */
    private String positionsSql(Ordering ordering, int ids) {
        return """
                SELECT e.event_id,
                       e.seq,
                       %s AS new_before,
                       %s AS retry_before,
                       %s AS dead_before,
                       %s AS untyped_new_before,
                       %s AS untyped_retry_before,
                       %s AS untyped_dead_before
                  FROM %s e
                 WHERE e.%s
                """.formatted(
                        nearest(Rows.TYPED, ordering, 0),
                        nearest(Rows.TYPED, ordering, 2),
                        nearest(Rows.TYPED, ordering, 3),
                        Rows.UNTYPED.look(nearest(Rows.UNTYPED, ordering, 0)),
                        Rows.UNTYPED.look(nearest(Rows.UNTYPED, ordering, 2)),
                        Rows.UNTYPED.look(nearest(Rows.UNTYPED, ordering, 3)),
                        store.table(),
                        store.idCondition(ids));
    }

    /**
     * Returns the nearest predecessor. If the database searches from the end of the aggregate, the first event is
     * checked before, which avoids that search for the next event to deliver.
     */
    private String nearest(Rows rows, Ordering ordering, int status) {
        if (store.dialect().findsLastDirectly()) {
            return last(rows, ordering, status);
        }
        return "CASE WHEN " + first(rows, ordering, status) + " < e.seq THEN " + last(rows, ordering, status) + " END";
    }

    private static Position position(ResultSet row) throws SQLException {
        long unfinished = Math.max(nearest(row, "new_before"), nearest(row, "retry_before"));
        return new Position(row.getLong("seq"), unfinished, nearest(row, "dead_before"));
    }

    private static long nearest(ResultSet row, String name) throws SQLException {
        return Math.max(row.getLong(name), row.getLong("untyped_" + name)); // NULL reads as 0
    }

    /** Returns the first event of the aggregate of e with the status. Binds: the types. */
    private String first(Rows rows, Ordering ordering, int status) {
        return """
                (SELECT p.seq
                          FROM %s p %s
                         WHERE %s
                           AND p.aggregate_id = e.aggregate_id
                           AND p.status = %d
                           AND p.seq > 0
                           AND %s
                         ORDER BY %sp.aggregate_id, p.status, p.seq
                         LIMIT 1)""".formatted(
                        store.table(),
                        hint(),
                        rows.condition,
                        status,
                        isOrdered("p", ordering),
                        sortsByType(rows) ? "p.aggregate_type, " : "");
    }

    /** Returns the last event of the aggregate of e with the status before e. Binds: the types. */
    private String last(Rows rows, Ordering ordering, int status) {
        return """
                (SELECT p.seq
                          FROM %s p %s
                         WHERE %s
                           AND p.aggregate_id = e.aggregate_id
                           AND p.status = %d
                           AND p.seq > 0
                           AND p.seq < e.seq
                           AND %s
                         ORDER BY %sp.aggregate_id DESC, p.status DESC, p.seq DESC
                         LIMIT 1)""".formatted(
                        store.table(),
                        hint(),
                        rows.condition,
                        status,
                        isOrdered("p", ordering),
                        sortsByType(rows) ? "p.aggregate_type DESC, " : "");
    }

    private boolean sortsByType(Rows rows) {
        return rows == Rows.TYPED || store.dialect().sortsByNull();
    }

    private String hint() {
        String known = hint;
        return known == null ? "" : known;
    }

    private static String isOrdered(String alias, Ordering ordering) {
        if (ordering.types().isEmpty()) {
            return "1 = 1";
        }
        String names = "(?" + ", ?".repeat(ordering.types().size() - 1) + ")";
        return alias + ".event_type " + (ordering.typesAreExceptions() ? "NOT IN " : "IN ") + names;
    }

    private static void bindTypes(Binder binder, Ordering ordering, int times) throws SQLException {
        for (int i = 0; i < times; i++) {
            binder.texts(ordering.types());
        }
    }

    // ---- administration ----

    /**
     * Returns blocked aggregates. The inner query selects the aggregates first, so that events are counted only
     * for those.
     */
    List<BlockedAggregate> blockedAggregates(Connection conn, int limit) {
        String behind = " AND w.aggregate_id = d.aggregate_id AND w.seq > d.seq";
        // Binds: limit.
        String sql = """
                SELECT %5$s AS aggregate_type, d.aggregate_id, d.event_id, d.event_type, d.done_at, d.last_error,
                       (SELECT COUNT(*) FROM %1$s w WHERE %2$s AND w.status IN (0, 2)) AS waiting,
                       (SELECT COUNT(*) FROM %1$s w WHERE %2$s AND w.status = 3) AS also_dead,
                       (SELECT MIN(w.created_at) FROM %1$s w WHERE %2$s AND w.status IN (0, 2)) AS oldest,
                       (SELECT COUNT(*) FROM %1$s w WHERE %3$s AND w.status IN (0, 2)) AS untyped_waiting,
                       (SELECT COUNT(*) FROM %1$s w WHERE %3$s AND w.status = 3) AS untyped_also_dead,
                       (SELECT MIN(w.created_at) FROM %1$s w WHERE %3$s AND w.status IN (0, 2)) AS untyped_oldest
                  FROM (SELECT e.aggregate_type, e.aggregate_id, e.event_id, e.event_type, e.done_at, e.last_error, e.seq,
                               COALESCE(e.done_at, e.created_at) AS since
                          FROM %1$s e
                         WHERE e.status = 3
                           AND e.seq > 0
                           AND e.aggregate_id IS NOT NULL
                           AND %4$s
                         ORDER BY COALESCE(e.done_at, e.created_at), e.seq
                         LIMIT ?) d
                 ORDER BY d.since, d.seq
                """.formatted(
                        store.table(),
                        "w.aggregate_type = " + TYPE.formatted("d") + behind,
                        "w.aggregate_type IS NULL AND " + IS_GLOBAL.formatted("d") + behind,
                        isNotBehind(Ordering.perAggregate(), 3),
                        TYPE.formatted("d"));
        return store.run("find blocked aggregates", () -> {
            TableColumns shape = require(conn);
            return store.query(conn, sql, binder -> binder.number(limit), row -> blocked(row, shape));
        });
    }

    private static BlockedAggregate blocked(ResultSet row, TableColumns shape) throws SQLException {
        return new BlockedAggregate(
                row.getString("aggregate_type"),
                row.getString("aggregate_id"),
                row.getString("event_id"),
                row.getString("event_type"),
                shape.read(row, "done_at"),
                row.getString("last_error"),
                row.getLong("waiting") + row.getLong("untyped_waiting"),
                row.getLong("also_dead") + row.getLong("untyped_also_dead"),
                earlier(shape.read(row, "created_at", "oldest"), shape.read(row, "created_at", "untyped_oldest")));
    }

    private static @Nullable Instant earlier(@Nullable Instant one, @Nullable Instant other) {
        return one == null || other != null && other.isBefore(one) ? other : one;
    }

    /**
     * Takes events out of the order. On MySQL an UPDATE, unlike a DELETE, waits only for rows that it changes, so
     * one statement can name all of them.
     */
    int skip(Connection conn, Collection<String> eventIds) {
        return store.run("skip " + eventIds.size() + " events", () -> {
            require(conn);
            return store.updateIds(conn, """
                    UPDATE %1$s
                       SET seq = -seq
                     WHERE %2$s
                       AND status = 3
                       AND seq > 0
                       AND aggregate_id IS NOT NULL
                    """, eventIds, binder -> {}, binder -> {});
        });
    }
}
