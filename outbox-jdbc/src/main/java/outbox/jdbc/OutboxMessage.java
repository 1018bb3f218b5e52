package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.relay.Topics;
import outbox.relay.TraceContext;

import java.util.Objects;
import java.util.UUID;

/**
 * An event for a table of the module layout.
 *
 * @param topic of the form {@link Topics#RULE}
 * @param eventId made by who writes it; a second one with the same id is the same event
 * @param payload JSON
 * @param trace the writer's; null: that of the publisher's supplier, if it has one
 */
public record OutboxMessage(
        UUID tenantId,
        String topic,
        UUID eventId,
        String payload,
        @Nullable TraceContext trace) {

    public OutboxMessage {
        Objects.requireNonNull(tenantId, "tenantId");
        Topics.check(topic);
        Objects.requireNonNull(eventId, "eventId");
        Objects.requireNonNull(payload, "payload");
    }

    public OutboxMessage(UUID tenantId, String topic, UUID eventId, String payload) {
        this(tenantId, topic, eventId, payload, null);
    }

    /** Names the event without its payload, which may be confidential. */
    @Override
    public String toString() {
        return "OutboxMessage[" + eventId + ", " + topic + ", tenant " + tenantId + "]";
    }
}
