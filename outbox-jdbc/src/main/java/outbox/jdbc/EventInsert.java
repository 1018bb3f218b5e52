package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.DuplicateKeyException;
import outbox.EventEnvelope;
import outbox.InvalidEventException;
import outbox.jdbc.internal.sql.Binder;
import outbox.jdbc.internal.sql.InsertBatches;
import outbox.jdbc.internal.sql.TableColumns;
import outbox.spi.Claim;
import outbox.util.JsonCodec;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/**
 * Inserts events with as few statements as the limits of drivers and servers allow: several rows per statement,
 * bounded in number (bind parameters) and in bytes (packet size). The statement itself takes the creation time and
 * the due time from the database clock. An event with its own due time is not leased. An event that uses no optional
 * feature is inserted by the statement of a plain outbox. Keys are taken before the first insert, always in the same
 * order, so that two calls with the same keys cannot deadlock.
 */
final class EventInsert {

    // For more rows, the text is not cached: it is long, and building it is cheap compared with inserting the rows.
    private static final int MAX_KNOWN_ROWS = 32;

    private final AbstractJdbcEventStore store;
    private final TableColumns shape;
    private boolean lasting = true; // an instance is used by one thread for one insert

    EventInsert(AbstractJdbcEventStore store, TableColumns shape) {
        this.store = store;
        this.shape = shape;
    }

    /**
     * Inserts all events or none, except those whose key is taken. Every check runs before the first statement.
     *
     * @return for the id of each event that was left out, the id of the event that has its key
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
            for (List<EventEnvelope> chunk : InsertBatches.of(rest, EventInsert::areAlike)) {
                insertChunk(connection, chunk, birth, fresh);
                inserted.addAll(ids(chunk));
            }
            return leftOut;
        } catch (SQLException | RuntimeException e) {
            undo(connection, inserted, taking, e);
            throw e;
        }
    }

    /** A key that an event of this call has taken, and the event that took it before, if any. */
    private record Taken(
            String key, String eventId, @Nullable String former) {}

    /**
     * Takes the keys of the events.
     *
     * @param taking receives the keys that this call takes
     * @return for the id of each event whose key is taken, the id of the event that has the key
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

    /**
     * Whether it is certain that no savepoint is set, so that only the end of the transaction can undo the insert.
     */
    boolean isLasting() {
        return lasting;
    }

    private void insertChunk(Connection connection, List<EventEnvelope> chunk, @Nullable Claim birth, boolean fresh)
            throws SQLException {
        Kind kind = Kind.of(chunk.get(0), birth);
        lasting &= store.dialect()
                .insertRows(
                        store,
                        connection,
                        sql(chunk.size(), kind, fresh),
                        ids(chunk),
                        fresh,
                        statement -> bind(statement, chunk, birth, kind));
    }

    /**
     * Undoes the inserts and keys of this call, because the caller may catch the exception and commit. If the
     * transaction is aborted, these statements fail too, but then nothing can be committed.
     */
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
        if (!InsertBatches.isText(event.payloadBytes())) {
            throw new InvalidEventException(
                    "The payload of event " + event.eventId() + " is not text, and table " + store.table()
                            + " has no column payload_bytes for such payloads. Add it as in V1__outbox_event.sql.");
        }
    }

    private static List<String> ids(List<EventEnvelope> events) {
        return events.stream().map(EventEnvelope::eventId).toList();
    }

    /** Whether two successive events can be inserted by one statement. */
    private static boolean areAlike(EventEnvelope one, EventEnvelope other) {
        return Kind.of(one, null).equals(Kind.of(other, null));
    }

    /**
     * The properties of an event that determine the text of the statement.
     *
     * @param near whether a double represents the event time exactly to the microsecond: from 1901 to 2106
     */
    private record Kind(
            boolean leased, boolean delayed, boolean keyed, boolean prioritized, boolean expiring, boolean near) {

        static Kind of(EventEnvelope event, @Nullable Claim birth) {
            boolean delayed = event.availableAt() != null;
            return new Kind(
                    birth != null && !delayed,
                    delayed,
                    event.dedupKey() != null,
                    event.priority() != 0,
                    event.expiresAt() != null,
                    isNear(event.occurredAt().getEpochSecond()));
        }

        private static boolean isNear(long seconds) {
            return seconds > -(1L << 31) && seconds < 1L << 32;
        }
    }

    private record Text(int rows, Kind kind, boolean fresh) {}

    /**
     * @param fresh the library generated the ids, so no row can have one of them; see
     *     {@link EventEnvelope#takeFreshId}
     */
    private String sql(int rows, Kind kind, boolean fresh) {
        return rows > MAX_KNOWN_ROWS
                ? makeSql(rows, kind, fresh)
                : shape.text(new Text(rows, kind, fresh), () -> makeSql(rows, kind, fresh));
    }

    private String makeSql(int rows, Kind kind, boolean fresh) {
        boolean occurredAt = shape.has("occurred_at");
        boolean bytes = shape.has("payload_bytes");
        String row = "(?, ?, ?, ?, ?, " + store.dialect().jsonParameter(shape.typeOf("payload")) + ", "
                + store.dialect().jsonParameter(shape.typeOf("headers")) + ", 0, 0, "
                + (kind.delayed ? "?" : now("available_at")) + ", "
                + now("created_at")
                + (occurredAt ? ", " + (inSeconds(kind) ? store.dialect().secondsParameter() : "?") : "")
                + (bytes ? ", ?" : "")
                + (kind.leased ? ", ?, " + now("locked_at") : "")
                + (kind.keyed ? ", ?, ?" : "")
                + (kind.prioritized ? ", ?" : "")
                + (kind.expiring ? ", ?" : "") + ")";
        return """
                INSERT INTO %s (event_id, event_type, aggregate_type, aggregate_id, tenant_id, payload, headers,
                    status, attempts, available_at, created_at%s%s%s%s%s%s)
                VALUES %s%s
                %s""".formatted(
                        store.table(),
                        occurredAt ? ", occurred_at" : "",
                        bytes ? ", payload_bytes" : "",
                        kind.leased ? ", locked_by, locked_at" : "",
                        kind.keyed ? ", dedup_key, dedup_ms" : "",
                        kind.prioritized ? ", priority" : "",
                        kind.expiring ? ", expires_at" : "",
                        row,
                        (", " + row).repeat(rows - 1),
                        fresh ? "" : store.dialect().afterInsert(store, "(event_id)", rows));
    }

    /** Whether the event time is bound as a number, which driver and server process faster than text. */
    private boolean inSeconds(Kind kind) {
        return kind.near
                && store.dialect().secondsParameter() != null
                && shape.typeOf("occurred_at").equals("timestamptz");
    }

    private String now(String column) {
        return store.dialect().nowSql(shape.isZoned(column));
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
            if (kind.prioritized) {
                binder.smallNumber(event.priority());
            }
            if (kind.expiring) {
                binder.time("expires_at", event.expiresAt());
            }
        }
    }
}
