package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.EventHeaders;
import outbox.InvalidEventException;
import outbox.jdbc.internal.sql.Binder;
import outbox.jdbc.internal.sql.InsertBatches;
import outbox.jdbc.internal.sql.TableColumns;
import outbox.spi.Claim;
import outbox.util.JsonCodec;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Inserts events into a table of any layout, all or none. An event with a feature that the layout lacks is refused
 * before the first statement, with the name of the feature.
 */
final class LayoutInsert {

    private final LayoutEventStore store;
    private final TableLayout layout;
    private final LayoutSql sql;
    private final TableColumns shape;

    LayoutInsert(LayoutEventStore store, TableColumns shape) {
        this.store = store;
        this.layout = store.layout();
        this.sql = store.sql();
        this.shape = shape;
    }

    void insert(Connection conn, List<EventEnvelope> events, @Nullable Claim birth) throws SQLException {
        events.forEach(this::refuseWhatTheTableCannotKeep);
        List<String> inserted = new ArrayList<>();
        try {
            for (List<EventEnvelope> batch : InsertBatches.of(events, (one, next) -> true)) {
                List<String> ids = batch.stream().map(EventEnvelope::eventId).toList();
                store.dialect().insertRows(store, conn, text(batch.size(), birth != null), ids, false, statement -> {
                    Binder binder = new Binder(statement, shape);
                    for (EventEnvelope event : batch) {
                        bind(binder, event, birth);
                    }
                });
                inserted.addAll(ids);
            }
        } catch (SQLException | RuntimeException e) {
            undo(conn, inserted, e);
            throw e;
        }
    }

    private void undo(Connection conn, List<String> inserted, Exception failure) {
        try {
            store.delete(conn, inserted);
        } catch (SQLException | RuntimeException e) {
            failure.addSuppressed(e);
        }
    }

    private String text(int rows, boolean leased) {
        Map<LayoutColumn, String> values = values(leased);
        String row = "(" + String.join(", ", values.values()) + ")";
        String columns =
                String.join(", ", values.keySet().stream().map(sql::column).toList());
        return "INSERT INTO " + store.sqlName() + " (" + columns + ") VALUES " + row + (", " + row).repeat(rows - 1)
                + " " + store.dialect().afterInsert(store, "", rows);
    }

    /** Returns the SQL for each column: a parameter, in the order of {@link #bind}, or a constant expression. */
    private Map<LayoutColumn, String> values(boolean leased) {
        Map<LayoutColumn, String> values = new LinkedHashMap<>();
        for (LayoutColumn column : new LayoutColumn[] {
            LayoutColumn.EVENT_ID,
            LayoutColumn.EVENT_TYPE,
            LayoutColumn.AGGREGATE_TYPE,
            LayoutColumn.AGGREGATE_ID,
            LayoutColumn.TENANT_ID,
            LayoutColumn.PAYLOAD,
            LayoutColumn.HEADERS,
            LayoutColumn.TRACE_PARENT,
            LayoutColumn.TRACE_STATE
        }) {
            if (store.has(shape, column)) {
                values.put(column, sql.parameter(shape, column));
            }
        }
        if (leased) {
            values.put(LayoutColumn.LOCKED_BY, "?");
            values.put(LayoutColumn.LOCKED_AT, now(LayoutColumn.LOCKED_AT));
        }
        if (layout.has(LayoutColumn.STATUS)) {
            values.put(LayoutColumn.STATUS, sql.newStatus());
        }
        values.put(LayoutColumn.ATTEMPTS, "0");
        if (!layout.isDueWhenNull()) {
            values.put(LayoutColumn.AVAILABLE_AT, now(LayoutColumn.AVAILABLE_AT));
        }
        values.put(LayoutColumn.CREATED_AT, now(LayoutColumn.CREATED_AT));
        if (layout.has(LayoutColumn.UPDATED_AT)) {
            values.put(LayoutColumn.UPDATED_AT, now(LayoutColumn.UPDATED_AT));
        }
        return values;
    }

    private String now(LayoutColumn column) {
        return store.dialect().nowSql(shape.isZoned(sql.plain(column)));
    }

    private void bind(Binder binder, EventEnvelope event, @Nullable Claim birth) throws SQLException {
        binder.text(event.eventId()).text(event.eventType());
        if (layout.has(LayoutColumn.AGGREGATE_TYPE)) {
            binder.text(event.aggregateType());
        }
        if (layout.has(LayoutColumn.AGGREGATE_ID)) {
            binder.text(event.aggregateId());
        }
        if (layout.has(LayoutColumn.TENANT_ID)) {
            binder.text(event.tenantId());
        }
        binder.text(event.payloadJson());
        Map<String, @Nullable String> headers = new LinkedHashMap<>(event.headers());
        String traceParent = has(LayoutColumn.TRACE_PARENT) ? headers.remove(EventHeaders.TRACE_PARENT) : null;
        String traceState = has(LayoutColumn.TRACE_STATE) ? headers.remove(EventHeaders.TRACE_STATE) : null;
        if (layout.has(LayoutColumn.HEADERS)) {
            binder.text(JsonCodec.toJson(headers));
        }
        if (has(LayoutColumn.TRACE_PARENT)) {
            binder.text(traceParent);
        }
        if (has(LayoutColumn.TRACE_STATE)) {
            binder.text(traceState);
        }
        if (birth != null) {
            binder.text(birth.token());
        }
    }

    private boolean has(LayoutColumn column) {
        return store.has(shape, column);
    }

    private void refuseWhatTheTableCannotKeep(EventEnvelope event) {
        String what = "keep event " + event.eventId();
        if (event.aggregateId() != null) {
            layout.require(LayoutFeature.AGGREGATE, what + ", which has an aggregate");
        }
        if (event.tenantId() != null) {
            layout.require(LayoutFeature.TENANT, what + ", which has a tenant");
        }
        Set<String> headers = new HashSet<>(event.headers().keySet());
        if (has(LayoutColumn.TRACE_PARENT) && has(LayoutColumn.TRACE_STATE)) {
            headers.removeAll(Set.of(EventHeaders.TRACE_PARENT, EventHeaders.TRACE_STATE));
        }
        if (!headers.isEmpty()) {
            layout.require(LayoutFeature.HEADERS, what + ", which has headers");
        }
        if (event.availableAt() != null
                || event.deliverAfter() != null
                || event.dedupKey() != null
                || event.priority() != 0
                || event.expiresAt() != null
                || event.expireAfter() != null) {
            throw refused(
                    event,
                    "delivery control, such as a key, a due time, a priority or a deadline, is not kept by a layout");
        }
        if (event.isBinary() && !InsertBatches.isText(event.payloadBytes())) {
            throw refused(event, "its payload is not text, and there is no column payload_bytes for such payloads");
        }
        refuseNoUuid(event, LayoutColumn.EVENT_ID, event.eventId());
        if (layout.has(LayoutColumn.TENANT_ID)) {
            refuseNoUuid(event, LayoutColumn.TENANT_ID, event.tenantId());
        }
    }

    private void refuseNoUuid(EventEnvelope event, LayoutColumn column, @Nullable String value) {
        if (store.isUuid(shape, column) && (value == null || !LayoutEventStore.isUuid(value))) {
            throw refused(event, "its " + column + " must be a UUID");
        }
    }

    private InvalidEventException refused(EventEnvelope event, String why) {
        return new InvalidEventException("Event " + event.eventId() + " cannot be written to table " + store.table()
                + " of layout '" + layout.name() + "': " + why);
    }
}
