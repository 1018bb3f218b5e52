package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.InvalidEventException;
import outbox.spi.Claim;
import outbox.util.JsonCodec;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/**
 * Inserts events with as few statements as the limits of drivers and servers allow: several rows per statement, bounded in number (bind parameters) and in bytes (packet size).
 * Insert and due time are the database's, taken by the statement itself.
 */
final class EventInsert {

    private static final int MAX_ROWS = 500;
    private static final int MAX_BYTES = 4 << 20;
    private static final int MAX_KNOWN_ROWS =
            32; // a text for more is long, and its making does not matter beside so many rows

    private final AbstractJdbcEventStore store;
    private final TableShape shape;

    EventInsert(AbstractJdbcEventStore store, TableShape shape) {
        this.store = store;
        this.shape = shape;
    }

    /** Inserts all or none. Whatever can be refused is refused before the first statement. */
    void insert(Connection connection, List<EventEnvelope> events, @Nullable Claim birth) throws SQLException {
        events.forEach(this::refuseWhatTheTableCannotKeep);
        List<String> inserted = new ArrayList<>();
        try {
            for (List<EventEnvelope> chunk : chunks(events)) {
                store.insertChunk(
                        connection,
                        sql(chunk.size(), birth != null),
                        chunk,
                        statement -> bind(statement, chunk, birth));
                chunk.forEach(event -> inserted.add(event.eventId()));
            }
        } catch (SQLException | RuntimeException e) {
            undo(connection, inserted, e);
            throw e;
        }
    }

    /** The caller may swallow the failure and commit. Where the whole transaction has failed, this fails too, and nothing can be committed anyway. */
    private void undo(Connection connection, List<String> inserted, Exception failure) {
        try {
            if (!inserted.isEmpty()) {
                store.delete(connection, inserted);
            }
        } catch (SQLException | RuntimeException e) {
            failure.addSuppressed(e);
        }
    }

    private void refuseWhatTheTableCannotKeep(EventEnvelope event) {
        if (!event.isBinary() || shape.has("payload_bytes")) {
            return;
        }
        byte[] payload = event.payloadBytes();
        boolean storable;
        try {
            storable = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(payload))
                    .chars()
                    .noneMatch(c -> c == 0);
        } catch (CharacterCodingException e) {
            storable = false;
        }
        if (!storable) {
            throw new InvalidEventException(
                    "The payload of event " + event.eventId() + " is not text, and table " + store.table()
                            + " has no column payload_bytes for such payloads. Add it as in V1__outbox_event.sql.");
        }
    }

    private static List<List<EventEnvelope>> chunks(List<EventEnvelope> events) {
        if (events.size() == 1) {
            return List.of(events);
        }
        List<List<EventEnvelope>> chunks = new ArrayList<>();
        int start = 0;
        long bytes = 0;
        for (int i = 0; i < events.size(); i++) {
            bytes += sizeOf(events.get(i));
            if (i > start && (bytes > MAX_BYTES || i - start == MAX_ROWS)) {
                chunks.add(events.subList(start, i));
                start = i;
                bytes = sizeOf(events.get(i));
            }
        }
        chunks.add(events.subList(start, events.size()));
        return chunks;
    }

    /** About what the event adds to the statement; three bytes are the most that a character of UTF-16 takes. */
    private static long sizeOf(EventEnvelope event) {
        long headers = event.headers().entrySet().stream()
                .mapToLong(
                        header -> header.getKey().length() + header.getValue().length())
                .sum();
        return event.payloadSize() + 3 * headers;
    }

    private record Text(int rows, boolean leased) {}

    private String sql(int rows, boolean leased) {
        return rows > MAX_KNOWN_ROWS
                ? makeSql(rows, leased)
                : shape.text(new Text(rows, leased), () -> makeSql(rows, leased));
    }

    private String makeSql(int rows, boolean leased) {
        boolean occurredAt = shape.has("occurred_at");
        boolean bytes = shape.has("payload_bytes");
        String row = "(?, ?, ?, ?, ?, " + store.jsonParameter(shape.typeOf("payload")) + ", "
                + store.jsonParameter(shape.typeOf("headers")) + ", 0, 0, " + now("available_at") + ", "
                + now("created_at")
                + (occurredAt ? ", ?" : "") + (bytes ? ", ?" : "") + (leased ? ", ?, " + now("locked_at") : "") + ")";
        return """
                INSERT INTO %s (event_id, event_type, aggregate_type, aggregate_id, tenant_id, payload, headers,
                    status, attempts, available_at, created_at%s%s%s)
                VALUES %s%s
                %s""".formatted(
                        store.table(),
                        occurredAt ? ", occurred_at" : "",
                        bytes ? ", payload_bytes" : "",
                        leased ? ", locked_by, locked_at" : "",
                        row,
                        (", " + row).repeat(rows - 1),
                        store.afterInsert(rows));
    }

    private String now(String column) {
        return store.nowSql(shape.isZoned(column));
    }

    private void bind(PreparedStatement statement, List<EventEnvelope> events, @Nullable Claim birth)
            throws SQLException {
        Binder binder = new Binder(statement, shape);
        for (EventEnvelope event : events) {
            boolean asBytes = event.isBinary() && shape.has("payload_bytes");
            binder.text(event.eventId())
                    .text(event.eventType())
                    .text(event.aggregateType())
                    .text(event.aggregateId())
                    .text(event.tenantId())
                    .text(asBytes ? "" : event.payloadJson())
                    .text(JsonCodec.toJson(event.headers()));
            if (shape.has("occurred_at")) {
                binder.time("occurred_at", event.occurredAt());
            }
            if (shape.has("payload_bytes")) {
                binder.bytes(asBytes ? event.payloadBytes() : null);
            }
            if (birth != null) {
                binder.text(birth.token());
            }
        }
    }
}
