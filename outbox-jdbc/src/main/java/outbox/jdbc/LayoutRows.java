package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.EventHeaders;
import outbox.jdbc.internal.claim.LayoutFence;
import outbox.jdbc.internal.row.Candidate;
import outbox.jdbc.internal.row.ContentSql;
import outbox.jdbc.internal.row.ContentSql.Reading;
import outbox.jdbc.internal.row.EventReader;
import outbox.jdbc.internal.sql.TableColumns;
import outbox.model.OutboxEvent;
import outbox.util.JsonCodec;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads events from rows of any layout. The sequence and the trace, which the standard table does not have, are
 * added to the headers.
 */
final class LayoutRows implements EventReader {

    private static final List<LayoutColumn> READ = List.of(
            LayoutColumn.EVENT_ID,
            LayoutColumn.EVENT_TYPE,
            LayoutColumn.AGGREGATE_TYPE,
            LayoutColumn.AGGREGATE_ID,
            LayoutColumn.TENANT_ID,
            LayoutColumn.PAYLOAD,
            LayoutColumn.HEADERS,
            LayoutColumn.ATTEMPTS,
            LayoutColumn.CREATED_AT,
            LayoutColumn.AVAILABLE_AT,
            LayoutColumn.SEQUENCE,
            LayoutColumn.TRACE_PARENT,
            LayoutColumn.TRACE_STATE);

    private static final List<Known> KNOWN = List.of(
            new Known(LayoutColumn.SEQUENCE, EventHeaders.SEQUENCE),
            new Known(LayoutColumn.TRACE_PARENT, EventHeaders.TRACE_PARENT),
            new Known(LayoutColumn.TRACE_STATE, EventHeaders.TRACE_STATE));

    private final LayoutEventStore store;
    private final LayoutSql sql;
    private final ContentSql content;

    LayoutRows(LayoutEventStore store) {
        this.store = store;
        this.sql = store.sql();
        this.content = new ContentSql(store.dialect()::byteSize, sql.plain(LayoutColumn.PAYLOAD));
    }

    @Override
    public String columns(TableColumns shape, Reading reading) {
        return content.columns(shape, columns(shape), reading);
    }

    @Override
    public String sizes(TableColumns shape) {
        return content.sizes(shape, columns(shape));
    }

    @Override
    public long readBytes(ResultSet row, TableColumns shape) throws SQLException {
        return content.readBytes(row, shape);
    }

    private List<ContentSql.Column> columns(TableColumns shape) {
        return READ.stream()
                .filter(column -> store.has(shape, column))
                .map(column -> new ContentSql.Column(
                        sql.plain(column), sql.column(column), sql.column(column), column == LayoutColumn.PAYLOAD))
                .toList();
    }

    @Override
    public OutboxEvent whole(ResultSet row, TableColumns shape) throws SQLException {
        OutboxEvent event = event(row, shape);
        String fault = content.fault(row, shape);
        return fault == null ? event : event.withFault(fault);
    }

    private OutboxEvent event(ResultSet row, TableColumns shape) throws SQLException {
        Instant createdAt = shape.read(row, sql.plain(LayoutColumn.CREATED_AT));
        String eventType = row.getString(sql.plain(LayoutColumn.EVENT_TYPE));
        String payload = row.getString(sql.plain(LayoutColumn.PAYLOAD));
        return new OutboxEvent(
                row.getString(sql.plain(LayoutColumn.EVENT_ID)),
                eventType == null ? "" : eventType, // null if it was too large to read
                text(row, shape, LayoutColumn.AGGREGATE_TYPE),
                text(row, shape, LayoutColumn.AGGREGATE_ID),
                text(row, shape, LayoutColumn.TENANT_ID),
                payload == null ? "" : payload, // null if it was too large to read
                headers(row, shape),
                row.getInt(sql.plain(LayoutColumn.ATTEMPTS)),
                createdAt == null ? Instant.EPOCH : createdAt,
                null,
                null,
                shape.read(row, sql.plain(LayoutColumn.AVAILABLE_AT)),
                null,
                null,
                0,
                null,
                createdAt == null ? "The time at which it was stored is not a time" : null);
    }

    Candidate candidate(ResultSet row, TableColumns shape, LayoutFence fence, Reading reading) throws SQLException {
        OutboxEvent event = reading == Reading.WHOLE ? whole(row, shape) : event(row, shape);
        Instant lockedAt = sql.has(LayoutColumn.LOCKED_AT) ? shape.read(row, sql.plain(LayoutColumn.LOCKED_AT)) : null;
        String fault = TableColumns.leaseFault(lockedAt);
        boolean complete = fault != null
                || event.fault() != null
                || reading == Reading.WHOLE
                || !row.getBoolean(ContentSql.INCOMPLETE) && hasPayload(row, event);
        return new Candidate(
                fault == null ? event : event.withFault(fault),
                sequence(row),
                lockedAt != null || fence.wasHeld(event.eventId()),
                complete);
    }

    private boolean hasPayload(ResultSet row, OutboxEvent event) throws SQLException {
        return !event.payloadJson().isEmpty() || row.getString(sql.plain(LayoutColumn.PAYLOAD)) != null;
    }

    /** Returns the columns of a candidate if only the id is read. */
    String idColumns() {
        return sql.column(LayoutColumn.EVENT_ID)
                + (sql.has(LayoutColumn.SEQUENCE) ? ", " + sql.column(LayoutColumn.SEQUENCE) : "")
                + (sql.has(LayoutColumn.LOCKED_AT)
                        ? ", " + sql.column(LayoutColumn.LOCKED_AT) + " IS NOT NULL AS was_locked, "
                                + TableColumns.isLeaseFault(sql.column(LayoutColumn.LOCKED_AT)) + " AS lease_fault"
                        : "");
    }

    Candidate unread(ResultSet row, LayoutFence fence) throws SQLException {
        String eventId = row.getString(sql.plain(LayoutColumn.EVENT_ID));
        boolean locks = sql.has(LayoutColumn.LOCKED_AT);
        OutboxEvent event = OutboxEvent.unread(eventId);
        return new Candidate(
                locks && row.getBoolean("lease_fault") ? event.withFault(TableColumns.LEASE_FAULT) : event,
                sequence(row),
                locks && row.getBoolean("was_locked") || fence.wasHeld(eventId),
                false);
    }

    @Override
    public long sequence(ResultSet row) throws SQLException {
        return sql.has(LayoutColumn.SEQUENCE) ? row.getLong(sql.plain(LayoutColumn.SEQUENCE)) : 0;
    }

    private @Nullable String text(ResultSet row, TableColumns shape, LayoutColumn column) throws SQLException {
        return store.has(shape, column) ? row.getString(sql.plain(column)) : null;
    }

    /**
     * Returns headers that cannot be parsed unchanged. The event becomes dead when it is decoded, and no other event
     * is affected.
     */
    private @Nullable String headers(ResultSet row, TableColumns shape) throws SQLException {
        String stored = text(row, shape, LayoutColumn.HEADERS);
        Map<String, @Nullable String> headers = new LinkedHashMap<>();
        try {
            headers.putAll(JsonCodec.parseObject(stored));
        } catch (IllegalArgumentException e) {
            return stored;
        }
        for (Known known : KNOWN) {
            String value = text(row, shape, known.column);
            if (value != null) {
                headers.put(known.header, value);
            }
        }
        return JsonCodec.toJson(headers);
    }

    private record Known(LayoutColumn column, String header) {}
}
