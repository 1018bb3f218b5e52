package outbox.jdbc.internal.row;

import org.jspecify.annotations.Nullable;
import outbox.jdbc.internal.row.ContentSql.Reading;
import outbox.jdbc.internal.sql.TableColumns;
import outbox.model.OutboxEvent;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.function.BinaryOperator;
import java.util.stream.Stream;

/** Reads events from rows of the standard table. */
public final class EventRows implements EventReader {

    /** MySQL and MariaDB can store invalid dates, which are read as NULL. */
    private static final String NO_TIME = "The time at which it was stored, or the due time, is not a time";

    private static final List<String> REQUIRED = List.of(
            "event_id",
            "event_type",
            "aggregate_type",
            "aggregate_id",
            "tenant_id",
            "payload",
            "headers",
            "attempts",
            "created_at",
            "available_at");

    private static final List<String> OPTIONAL =
            List.of("occurred_at", "payload_bytes", "dedup_ms", "dedup_key", "priority", "expires_at");

    private static final Set<String> PAYLOADS = Set.of("payload", "payload_bytes");

    private final ContentSql content;

    /** @param byteSize see {@link ContentSql} */
    public EventRows(BinaryOperator<String> byteSize) {
        this.content = new ContentSql(byteSize, "payload");
    }

    /**
     * Returns the columns of an event, each with the given prefix. {@code reading} determines how much of each
     * is read.
     */
    public String columns(TableColumns shape, String prefix, Reading reading) {
        return content.columns(shape, columns(shape, prefix), reading);
    }

    @Override
    public String columns(TableColumns shape, Reading reading) {
        return columns(shape, "", reading);
    }

    @Override
    public String sizes(TableColumns shape) {
        return content.sizes(shape, columns(shape, ""));
    }

    @Override
    public long readBytes(ResultSet row, TableColumns shape) throws SQLException {
        return content.readBytes(row, shape);
    }

    @Override
    public long sequence(ResultSet row) {
        return 0;
    }

    @Override
    public OutboxEvent whole(ResultSet row, TableColumns shape) throws SQLException {
        OutboxEvent event = event(row, shape);
        String fault = content.fault(row, shape);
        return fault == null ? event : event.withFault(fault);
    }

    private static List<ContentSql.Column> columns(TableColumns shape, String prefix) {
        return Stream.concat(REQUIRED.stream(), OPTIONAL.stream().filter(shape::has))
                .map(name -> new ContentSql.Column(name, prefix + name, name, PAYLOADS.contains(name)))
                .toList();
    }

    /** Returns the columns of delivery control that a list also shows, each with a comma before it. */
    public static String control(TableColumns shape) {
        return optional(shape, "dedup_key") + optional(shape, "priority") + optional(shape, "expires_at");
    }

    private static String optional(TableColumns shape, String column) {
        return shape.has(column) ? ", " + column : "";
    }

    private static OutboxEvent event(ResultSet row, TableColumns shape) throws SQLException {
        Instant createdAt = shape.read(row, "created_at");
        Instant availableAt = shape.read(row, "available_at");
        String eventType = row.getString("event_type");
        String payload = row.getString("payload");
        return new OutboxEvent(
                row.getString("event_id"),
                eventType == null ? "" : eventType, // null if it was too large to read
                row.getString("aggregate_type"),
                row.getString("aggregate_id"),
                row.getString("tenant_id"),
                payload == null ? "" : payload, // null if it was too large to read
                row.getString("headers"),
                row.getInt("attempts"),
                createdAt == null ? Instant.EPOCH : createdAt,
                shape.has("occurred_at") ? shape.read(row, "occurred_at") : null,
                shape.has("payload_bytes") ? row.getBytes("payload_bytes") : null,
                availableAt,
                shape.has("dedup_key") ? row.getString("dedup_key") : null,
                shape.has("dedup_ms") ? span(row, "dedup_ms") : null,
                shape.has("priority") ? row.getInt("priority") : 0, // NULL reads as 0
                shape.has("expires_at") ? shape.read(row, "expires_at") : null,
                createdAt == null || availableAt == null ? NO_TIME : null);
    }

    private static @Nullable Duration span(ResultSet row, String column) throws SQLException {
        long millis = row.getLong(column);
        return row.wasNull() ? null : Duration.ofMillis(millis);
    }

    /**
     * Reads a candidate from a row of {@link Reading#SMALL} with its lock in {@code was_locked_at}. If
     * {@code idsOnly}, only the id is read.
     */
    public Candidate candidate(ResultSet row, TableColumns shape, boolean idsOnly) throws SQLException {
        boolean wasHeld = row.getString("locked_by") != null;
        if (idsOnly) {
            OutboxEvent event = OutboxEvent.unread(row.getString("event_id"));
            boolean fault = row.getBoolean("lease_fault");
            return new Candidate(fault ? event.withFault(TableColumns.LEASE_FAULT) : event, 0, wasHeld, false);
        }
        OutboxEvent event = event(row, shape);
        boolean hasPayload = !event.payloadJson().isEmpty() || row.getString("payload") != null;
        return candidate(row, shape, event, wasHeld, hasPayload && !row.getBoolean(ContentSql.INCOMPLETE));
    }

    /**
     * Reads a candidate from a row of {@link Reading#WHOLE} with its lock in {@code was_locked_at}. The given token
     * may hold the event.
     */
    public Candidate whole(ResultSet row, TableColumns shape, String token) throws SQLException {
        String lockedBy = row.getString("locked_by");
        return candidate(row, shape, whole(row, shape), lockedBy != null && !lockedBy.equals(token), true);
    }

    private static Candidate candidate(
            ResultSet row, TableColumns shape, OutboxEvent event, boolean wasHeld, boolean complete)
            throws SQLException {
        String fault = TableColumns.leaseFault(shape.read(row, "locked_at", "was_locked_at"));
        OutboxEvent found = fault == null ? event : event.withFault(fault);
        return new Candidate(found, 0, wasHeld, complete || found.fault() != null);
    }
}
