package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.DuplicateKeyException;
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
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;

/**
 * Inserts events with as few statements as the limits of drivers and servers allow: several rows per statement, bounded in number (bind parameters) and in bytes (packet size).
 * Insert and due time are the database's, taken by the statement itself, unless the event has a due time of its own; then it is not leased either. What uses nothing beyond the
 * plain outbox is inserted by the same statement as ever. Keys are taken before the first insert, all in one order,
 * so that two calls with the same keys never wait for each other.
 */
final class EventInsert {

    private static final int MAX_ROWS = 500;
    private static final int MAX_BYTES = 4 << 20;
    private static final int MAX_KNOWN_ROWS =
            32; // a text for more is long, and its making does not matter beside so many rows

    private final AbstractJdbcEventStore store;
    private final TableShape shape;
    private boolean lasting = true; // used by one thread, for one insert

    EventInsert(AbstractJdbcEventStore store, TableShape shape) {
        this.store = store;
        this.shape = shape;
    }

    /**
     * Inserts all or none, apart from those whose key is taken. Whatever can be refused is refused before the first statement.
     *
     * @return for the id of each event that was left out, the id of the one that has its key
     */
    Map<String, String> insert(
            Connection connection, List<EventEnvelope> events, @Nullable Claim birth, boolean refuseTaken)
            throws SQLException {
        boolean fresh = true;
        boolean keyed = false;
        for (EventEnvelope event : events) {
            refuseWhatTheTableCannotKeep(connection, event);
            fresh &= event.takeFreshId();
            keyed |= event.dedupKey() != null;
        }
        TableName controlTable = shape.controlTable();
        if (!fresh && controlTable != null) {
            refuseElsewhere(connection, events, controlTable);
        }
        if (events.size() == 1 && !keyed) { // the usual write
            insertChunk(connection, events, birth, fresh);
            return Map.of();
        }
        List<Taken> taking = new ArrayList<>();
        List<String> inserted = new ArrayList<>();
        try {
            Map<String, String> leftOut = keyed ? takeKeys(connection, events, refuseTaken, taking) : Map.of();
            List<EventEnvelope> rest = leftOut.isEmpty()
                    ? events
                    : events.stream()
                            .filter(event -> !leftOut.containsKey(event.eventId()))
                            .toList();
            for (List<EventEnvelope> chunk : chunks(rest)) {
                insertChunk(connection, chunk, birth, fresh);
                chunk.forEach(event -> inserted.add(event.eventId()));
            }
            return leftOut;
        } catch (SQLException | RuntimeException e) {
            undo(connection, inserted, taking, e);
            throw e;
        }
    }

    /** A key that an event of this call has taken, and the event that took it last before, if any. */
    private record Taken(
            String key, String eventId, @Nullable String former) {}

    /**
     * Takes the keys of the events.
     *
     * @param taking gets the keys that are taken now
     * @return for the id of each event whose key is taken, the id of the one that has it
     */
    private Map<String, String> takeKeys(
            Connection connection, List<EventEnvelope> events, boolean refuseTaken, List<Taken> taking)
            throws SQLException {
        Map<String, List<EventEnvelope>> byKey =
                new TreeMap<>(Comparator.comparing(store.keys()::placeOf).thenComparing(Comparator.naturalOrder()));
        for (EventEnvelope event : events) {
            if (event.dedupKey() != null) {
                byKey.computeIfAbsent(event.dedupKey(), any -> new ArrayList<>())
                        .add(event);
            }
        }
        Map<String, String> leftOut = new HashMap<>();
        for (Map.Entry<String, List<EventEnvelope>> one : byKey.entrySet()) {
            List<EventEnvelope> same = one.getValue();
            EventEnvelope first = same.get(0);
            KeyStatements.Take take = store.keys().take(connection, one.getKey(), first.eventId());
            if (take.made()) {
                taking.add(new Taken(one.getKey(), first.eventId(), take.former()));
            }
            String holder = take.made() ? first.eventId() : Objects.requireNonNull(take.former());
            for (EventEnvelope other : same.subList(take.made() ? 1 : 0, same.size())) {
                leftOut.put(other.eventId(), holder);
            }
            if (refuseTaken && !leftOut.isEmpty()) {
                throw new DuplicateKeyException(
                        one.getKey(), leftOut.values().iterator().next());
            }
        }
        return leftOut;
    }

    /** Whether it is certain that no savepoint is set, so that only the end of the transaction can undo the insert. */
    boolean isLasting() {
        return lasting;
    }

    /** Of two tables that make one, each knows its own ids only. */
    private void refuseElsewhere(Connection connection, List<EventEnvelope> events, TableName controlTable)
            throws SQLException {
        Set<String> controlled = new HashSet<>();
        Set<String> plain = new HashSet<>();
        for (EventEnvelope event : events) {
            (ControlStatements.isControlled(event) ? controlled : plain).add(event.eventId());
        }
        Set<String> elsewhere = new HashSet<>(controlled);
        elsewhere.retainAll(plain);
        if (elsewhere.isEmpty()) {
            elsewhere.addAll(store.present(connection, "ONLY " + store.table(), controlled));
            elsewhere.addAll(store.present(connection, controlTable.value(), plain));
        }
        if (!elsewhere.isEmpty()) {
            throw store.duplicate(List.copyOf(elsewhere), null);
        }
    }

    private void insertChunk(Connection connection, List<EventEnvelope> chunk, @Nullable Claim birth, boolean fresh)
            throws SQLException {
        Kind kind = Kind.of(chunk.get(0), birth, fresh);
        lasting &= store.insertChunk(
                connection, sql(chunk.size(), kind), chunk, fresh, statement -> bind(statement, chunk, birth, kind));
    }

    /** The caller may swallow the failure and commit. Where the whole transaction has failed, this fails too, and nothing can be committed anyway. */
    private void undo(Connection connection, List<String> inserted, List<Taken> taking, Exception failure) {
        try {
            if (!inserted.isEmpty()) {
                store.delete(connection, inserted);
            }
            for (Taken taken : taking) {
                store.keys().release(connection, taken.key(), taken.eventId(), taken.former());
            }
        } catch (SQLException | RuntimeException e) {
            failure.addSuppressed(e);
        }
    }

    private void refuseWhatTheTableCannotKeep(Connection connection, EventEnvelope event) throws SQLException {
        if (event.deliverAfter() != null || event.expireAfter() != null) {
            throw new InvalidEventException(
                    "Event " + event.eventId() + " has a time relative to its write. Write it by an OutboxWriter.");
        }
        store.control().refuseMissing(connection, shape, event);
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
        List<List<EventEnvelope>> chunks = new ArrayList<>();
        if (events.isEmpty()) {
            return chunks;
        }
        int start = 0;
        long bytes = 0;
        for (int i = 0; i < events.size(); i++) {
            bytes += sizeOf(events.get(i));
            if (i > start
                    && (bytes > MAX_BYTES || i - start == MAX_ROWS || !areAlike(events.get(i - 1), events.get(i)))) {
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

    /** Whether two events in a row fit one statement. */
    private static boolean areAlike(EventEnvelope one, EventEnvelope other) {
        return Kind.of(one, null, false).equals(Kind.of(other, null, false));
    }

    /**
     * What the statement of an event depends on.
     *
     * @param near whether a double holds the time of the fact to the microsecond, from 1901 to 2106
     * @param fresh no row can have the id, see {@link EventEnvelope#takeFreshId}
     */
    private record Kind(
            boolean leased, boolean delayed, boolean controlled, boolean keyed, boolean near, boolean fresh) {

        static Kind of(EventEnvelope event, @Nullable Claim birth, boolean fresh) {
            boolean delayed = event.availableAt() != null;
            return new Kind(
                    birth != null && !delayed,
                    delayed,
                    ControlStatements.isControlled(event),
                    event.dedupKey() != null,
                    isNear(event.occurredAt().getEpochSecond()),
                    fresh);
        }

        private static boolean isNear(long seconds) {
            return seconds > -(1L << 31) && seconds < 1L << 32;
        }
    }

    private record Text(int rows, Kind kind) {}

    private String sql(int rows, Kind kind) {
        return rows > MAX_KNOWN_ROWS
                ? makeSql(rows, kind)
                : shape.text(new Text(rows, kind), () -> makeSql(rows, kind));
    }

    private String makeSql(int rows, Kind kind) {
        boolean occurredAt = shape.has("occurred_at");
        boolean bytes = shape.has("payload_bytes");
        String row = "(?, ?, ?, ?, ?, " + store.jsonParameter(shape.typeOf("payload")) + ", "
                + store.jsonParameter(shape.typeOf("headers")) + ", 0, 0, "
                + (kind.delayed ? "?" : now("available_at")) + ", "
                + now("created_at")
                + (occurredAt ? ", " + (inSeconds(kind) ? store.secondsParameter() : "?") : "") + (bytes ? ", ?" : "")
                + (kind.leased ? ", ?, " + now("locked_at") : "")
                + (kind.keyed ? ", ?, ?" : "")
                + (kind.controlled ? ", ?, ?" : "") + ")";
        return """
                INSERT INTO %s (event_id, event_type, aggregate_type, aggregate_id, tenant_id, payload, headers,
                    status, attempts, available_at, created_at%s%s%s%s%s)
                VALUES %s%s
                %s""".formatted(
                        kind.controlled ? store.controlTable(shape) : store.table(),
                        occurredAt ? ", occurred_at" : "",
                        bytes ? ", payload_bytes" : "",
                        kind.leased ? ", locked_by, locked_at" : "",
                        kind.keyed ? ", dedup_key, dedup_ms" : "",
                        kind.controlled ? ", priority, expires_at" : "",
                        row,
                        (", " + row).repeat(rows - 1),
                        kind.fresh ? "" : store.afterInsert(rows));
    }

    /** Whether the time of the fact is bound as a number, which driver and server handle faster than a text. */
    private boolean inSeconds(Kind kind) {
        return kind.near
                && store.secondsParameter() != null
                && shape.typeOf("occurred_at").equals("timestamptz");
    }

    private String now(String column) {
        return store.nowSql(shape.isZoned(column));
    }

    private void bind(PreparedStatement statement, List<EventEnvelope> events, @Nullable Claim birth, Kind kind)
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
            if (event.availableAt() != null) {
                binder.time("available_at", event.availableAt());
            }
            if (shape.has("occurred_at")) {
                if (inSeconds(kind)) {
                    binder.seconds(event.occurredAt());
                } else {
                    binder.time("occurred_at", event.occurredAt());
                }
            }
            if (shape.has("payload_bytes")) {
                binder.bytes(asBytes ? event.payloadBytes() : null);
            }
            if (birth != null && kind.leased) {
                binder.text(birth.token());
            }
            if (kind.keyed) {
                ControlStatements.bindKey(binder, event);
            }
            if (kind.controlled) {
                ControlStatements.bindControl(binder, event);
            }
        }
    }
}
