package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.model.OutboxEvent;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;

/** Reads events from rows. */
final class EventRows {

    private EventRows() {}

    /** An event that can be claimed. */
    record Candidate(
            OutboxEvent event,
            Instant availableAt,
            @Nullable String lockedBy) {}

    /** The columns of an event, each with the given prefix. */
    static String columns(TableShape shape, String prefix) {
        String columns =
                "event_id, event_type, aggregate_type, aggregate_id, tenant_id, payload, headers, attempts, created_at"
                        + (shape.has("occurred_at") ? ", occurred_at" : "")
                        + (shape.has("payload_bytes") ? ", payload_bytes" : "");
        return prefix.isEmpty() ? columns : prefix + columns.replace(", ", ", " + prefix);
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
                shape.has("payload_bytes") ? row.getBytes("payload_bytes") : null);
    }

    static Candidate candidate(ResultSet row, TableShape shape) throws SQLException {
        Instant availableAt = shape.read(row, "available_at");
        return new Candidate(
                event(row, shape), availableAt == null ? Instant.EPOCH : availableAt, row.getString("locked_by"));
    }
}
