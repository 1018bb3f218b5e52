package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.model.OutboxEvent;
import outbox.spi.Claim;
import outbox.spi.ClaimedEvent;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/** Reads events from rows. */
final class EventRows {

    /** MySQL and MariaDB have dates that are none, and read as NULL. */
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

    private EventRows() {}

    /** An event that can be claimed. */
    record Candidate(OutboxEvent event, @Nullable String lockedBy, boolean complete) {

        int priority() {
            return event.priority();
        }

        Instant availableAt() {
            Instant at = event.availableAt();
            return at == null ? Instant.EPOCH : at;
        }

        ClaimedEvent claimedBy(Claim claim) {
            return new ClaimedEvent(event, claim, lockedBy != null, complete);
        }
    }

    /** The columns of an event, each with the given prefix. */
    static List<ContentSql.Column> columns(TableShape shape, String prefix) {
        return Stream.concat(REQUIRED.stream(), OPTIONAL.stream().filter(shape::has))
                .map(name -> new ContentSql.Column(name, prefix + name, name, PAYLOADS.contains(name)))
                .toList();
    }

    /** The columns of control that a list shows too, with a comma before each. */
    static String control(TableShape shape) {
        return optional(shape, "dedup_key") + optional(shape, "priority") + optional(shape, "expires_at");
    }

    private static String optional(TableShape shape, String column) {
        return shape.has(column) ? ", " + column : "";
    }

    static OutboxEvent event(ResultSet row, TableShape shape) throws SQLException {
        Instant createdAt = shape.read(row, "created_at");
        Instant availableAt = shape.read(row, "available_at");
        String eventType = row.getString("event_type");
        String payload = row.getString("payload");
        return new OutboxEvent(
                row.getString("event_id"),
                eventType == null ? "" : eventType, // too large to be read
                row.getString("aggregate_type"),
                row.getString("aggregate_id"),
                row.getString("tenant_id"),
                payload == null ? "" : payload, // the same
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

    /** A candidate of {@link ContentSql.Reading#SMALL}. Its lock is {@code was_locked_at}. */
    static Candidate candidate(ResultSet row, TableShape shape) throws SQLException {
        OutboxEvent event = event(row, shape);
        boolean hasPayload = !event.payloadJson().isEmpty() || row.getString("payload") != null;
        return candidate(row, shape, event, hasPayload && !row.getBoolean(ContentSql.INCOMPLETE));
    }

    static Candidate candidate(ResultSet row, TableShape shape, OutboxEvent event, boolean complete)
            throws SQLException {
        String fault = TableShape.leaseFault(shape.read(row, "locked_at", "was_locked_at"));
        OutboxEvent found = fault == null ? event : event.withFault(fault);
        return new Candidate(found, row.getString("locked_by"), complete || found.fault() != null);
    }

    /** A candidate of which only the id is read. */
    static Candidate unread(ResultSet row) throws SQLException {
        OutboxEvent event = OutboxEvent.unread(row.getString("event_id"));
        return new Candidate(
                row.getBoolean("lease_fault") ? event.withFault(TableShape.LEASE_FAULT) : event,
                row.getString("locked_by"),
                false);
    }
}
