package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.InvalidEventException;
import outbox.relay.Meta;
import outbox.spi.Claim;
import outbox.util.JsonCodec;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Inserts events into a table of some layout, all or none. What the layout cannot keep is refused by name before the first statement. */
final class LayoutInsert {

    private static final int MAX_ROWS = 100;
    private static final int MAX_BYTES = 4 << 20;

    private final LayoutEventStore store;
    private final TableLayout layout;
    private final LayoutSql sql;
    private final TableShape shape;

    LayoutInsert(LayoutEventStore store, TableLayout layout, TableShape shape) {
        this.store = store;
        this.layout = layout;
        this.sql = store.sql();
        this.shape = shape;
    }

    void insert(Connection conn, List<EventEnvelope> events, @Nullable Claim birth) throws SQLException {
        events.forEach(this::refuseWhatTheTableCannotKeep);
        List<String> inserted = new ArrayList<>();
        try {
            for (List<EventEnvelope> chunk : chunks(events)) {
                insertChunk(conn, chunk, birth);
                chunk.forEach(event -> inserted.add(event.eventId()));
            }
        } catch (SQLException | RuntimeException e) {
            undo(conn, inserted, e);
            throw e;
        }
    }

    private void undo(Connection conn, List<String> inserted, Exception failure) {
        try {
            delete(conn, inserted);
        } catch (SQLException | RuntimeException e) {
            failure.addSuppressed(e);
        }
    }

    private void delete(Connection conn, List<String> ids) throws SQLException {
        store.deleteIds(conn, ids);
    }

    private static List<List<EventEnvelope>> chunks(List<EventEnvelope> events) {
        List<List<EventEnvelope>> chunks = new ArrayList<>();
        int start = 0;
        long bytes = 0;
        for (int i = 0; i < events.size(); i++) {
            long size = sizeOf(events.get(i));
            if (i > start && (i - start == MAX_ROWS || bytes + size > MAX_BYTES)) {
                chunks.add(events.subList(start, i));
                start = i;
                bytes = 0;
            }
            bytes += size;
        }
        chunks.add(events.subList(start, events.size()));
        return chunks;
    }

    private static long sizeOf(EventEnvelope event) {
        long headers = event.headers().entrySet().stream()
                .mapToLong(
                        header -> header.getKey().length() + header.getValue().length())
                .sum();
        return event.payloadSize() + 3 * headers;
    }

    /** On PostgreSQL an error would abort the caller's transaction, so a row that exists is passed over and missed in the answer instead. */
    private void insertChunk(Connection conn, List<EventEnvelope> events, @Nullable Claim birth) throws SQLException {
        List<String> ids = events.stream().map(EventEnvelope::eventId).toList();
        String id = sql.column(LayoutColumn.EVENT_ID);
        String text = text(events.size(), birth != null)
                + (sql.isPostgres() ? " ON CONFLICT DO NOTHING RETURNING " + id : "");
        try (PreparedStatement insert = conn.prepareStatement(text)) {
            Binder binder = new Binder(insert, shape);
            for (EventEnvelope event : events) {
                bind(binder, event, birth);
            }
            if (!sql.isPostgres()) {
                insert.executeUpdate();
                return;
            }
            List<String> inserted = new ArrayList<>();
            try (ResultSet rows = insert.executeQuery()) {
                while (rows.next()) {
                    inserted.add(rows.getString(1));
                }
            }
            if (inserted.size() < ids.size()) {
                delete(conn, inserted);
                List<String> missed = ids.stream()
                        .filter(one -> inserted.stream().noneMatch(one::equalsIgnoreCase))
                        .toList();
                throw store.dialect().duplicate(missed.isEmpty() ? ids : missed, null); // none: twice in one list
            }
        } catch (SQLException e) {
            if (store.dialect().isDuplicateKey(e)) {
                Set<String> found = store.queryIds(
                        conn, "SELECT " + id + " FROM %1$s WHERE %2$s", store.possible(conn, ids), binder -> {});
                throw store.dialect().duplicate(found.isEmpty() ? ids : List.copyOf(found), e);
            }
            throw e;
        }
    }

    private String text(int rows, boolean leased) {
        Map<LayoutColumn, String> values = values(leased);
        String row = "(" + String.join(", ", values.values()) + ")";
        String columns =
                String.join(", ", values.keySet().stream().map(sql::column).toList());
        return "INSERT INTO " + store.sqlName() + " (" + columns + ") VALUES " + row + (", " + row).repeat(rows - 1);
    }

    /** What goes into each column: a parameter, in the order of {@link #bind}, or our own words. */
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
        String traceParent = has(LayoutColumn.TRACE_PARENT) ? headers.remove(Meta.TRACE_PARENT_HEADER) : null;
        String traceState = has(LayoutColumn.TRACE_STATE) ? headers.remove(Meta.TRACE_STATE_HEADER) : null;
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
            headers.removeAll(Set.of(Meta.TRACE_PARENT_HEADER, Meta.TRACE_STATE_HEADER));
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
        if (event.isBinary() && !isText(event.payloadBytes())) {
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

    private static boolean isText(byte[] bytes) {
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes))
                    .chars()
                    .noneMatch(c -> c == 0);
        } catch (CharacterCodingException e) {
            return false;
        }
    }
}
