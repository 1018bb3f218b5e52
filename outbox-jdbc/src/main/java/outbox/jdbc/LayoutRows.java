package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.model.OutboxEvent;
import outbox.relay.Meta;
import outbox.util.JsonCodec;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Reads events from rows of some layout. What only such a table knows, the sequence and the trace, goes into the headers. */
final class LayoutRows {

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
            new Known(LayoutColumn.SEQUENCE, Meta.SEQUENCE_HEADER),
            new Known(LayoutColumn.TRACE_PARENT, Meta.TRACE_PARENT_HEADER),
            new Known(LayoutColumn.TRACE_STATE, Meta.TRACE_STATE_HEADER));

    private final LayoutEventStore store;
    private final LayoutSql sql;

    LayoutRows(LayoutEventStore store, LayoutSql sql) {
        this.store = store;
        this.sql = sql;
    }

    /** An event that can be claimed, its number if it has one, and whether a claim that ran out had it. */
    record Candidate(OutboxEvent event, long sequence, boolean wasHeld) {

        /** The oldest due time first. */
        static final Comparator<Candidate> ORDER = Comparator.comparing(Candidate::dueAt)
                .thenComparingLong(Candidate::sequence)
                .thenComparing(candidate -> candidate.event().createdAt());

        private Instant dueAt() {
            Instant at = event.availableAt();
            return at == null ? event.createdAt() : at;
        }

        String eventId() {
            return event.eventId();
        }
    }

    String columns(TableShape shape) {
        return READ.stream()
                .filter(column -> store.has(shape, column))
                .map(sql::column)
                .collect(Collectors.joining(", "));
    }

    OutboxEvent event(ResultSet row, TableShape shape) throws SQLException {
        Instant createdAt = shape.read(row, sql.plain(LayoutColumn.CREATED_AT));
        return new OutboxEvent(
                row.getString(sql.plain(LayoutColumn.EVENT_ID)),
                row.getString(sql.plain(LayoutColumn.EVENT_TYPE)),
                text(row, shape, LayoutColumn.AGGREGATE_TYPE),
                text(row, shape, LayoutColumn.AGGREGATE_ID),
                text(row, shape, LayoutColumn.TENANT_ID),
                row.getString(sql.plain(LayoutColumn.PAYLOAD)),
                headers(row, shape),
                row.getInt(sql.plain(LayoutColumn.ATTEMPTS)),
                createdAt == null ? Instant.EPOCH : createdAt,
                null,
                null,
                shape.read(row, sql.plain(LayoutColumn.AVAILABLE_AT)),
                null,
                null,
                0,
                null);
    }

    Candidate candidate(ResultSet row, TableShape shape, LayoutFence fence) throws SQLException {
        OutboxEvent event = event(row, shape);
        boolean locked = sql.has(LayoutColumn.LOCKED_AT) && shape.read(row, sql.plain(LayoutColumn.LOCKED_AT)) != null;
        long sequence = sql.has(LayoutColumn.SEQUENCE) ? row.getLong(sql.plain(LayoutColumn.SEQUENCE)) : 0;
        return new Candidate(event, sequence, locked || fence.wasHeld(event.eventId()));
    }

    private @Nullable String text(ResultSet row, TableShape shape, LayoutColumn column) throws SQLException {
        return store.has(shape, column) ? row.getString(sql.plain(column)) : null;
    }

    /** What cannot be read stays as it is: its event is dead when it is decoded, and no other suffers. */
    private @Nullable String headers(ResultSet row, TableShape shape) throws SQLException {
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
