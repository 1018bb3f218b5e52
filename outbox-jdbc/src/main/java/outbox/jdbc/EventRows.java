package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.model.OutboxEvent;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;

/** Reads events from rows. */
final class EventRows {

    private EventRows() {}

    /** An event that can be claimed. */
    record Candidate(OutboxEvent event, @Nullable String lockedBy) {

        int priority() {
            return event.priority();
        }

        Instant availableAt() {
            Instant at = event.availableAt();
            return at == null ? Instant.EPOCH : at;
        }
    }

    /** The columns of an event, each with the given prefix. */
    static String columns(TableShape shape, String prefix) {
        String columns =
                "event_id, event_type, aggregate_type, aggregate_id, tenant_id, payload, headers, attempts, created_at, available_at"
                        + optional(shape, "occurred_at")
                        + optional(shape, "payload_bytes")
                        + optional(shape, "dedup_ms")
                        + control(shape);
        return prefix.isEmpty() ? columns : prefix + columns.replace(", ", ", " + prefix);
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
        return new OutboxEvent(
                row.getString("event_id"),
                row.getString("event_type"),
                row.getString("aggregate_type"),
                row.getString("aggregate_id"),
                row.getString("tenant_id"),
                row.getString("payload"),
                row.getString("headers"),
                row.getInt("attempts"),
                createdAt == null ? Instant.EPOCH : createdAt,
                shape.has("occurred_at") ? shape.read(row, "occurred_at") : null,
                shape.has("payload_bytes") ? row.getBytes("payload_bytes") : null,
                shape.read(row, "available_at"),
                shape.has("dedup_key") ? row.getString("dedup_key") : null,
                shape.has("dedup_ms") ? span(row, "dedup_ms") : null,
                shape.has("priority") ? row.getInt("priority") : 0, // NULL reads as 0
                shape.has("expires_at") ? shape.read(row, "expires_at") : null);
    }

    private static @Nullable Duration span(ResultSet row, String column) throws SQLException {
        long millis = row.getLong(column);
        return row.wasNull() ? null : Duration.ofMillis(millis);
    }

    static Candidate candidate(ResultSet row, TableShape shape) throws SQLException {
        return new Candidate(event(row, shape), row.getString("locked_by"));
    }
}
