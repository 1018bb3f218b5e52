package outbox.cli;

import outbox.admin.EventSummary;

/** Converts events to JSON. */
final class Events {

    private Events() {}

    static String status(EventSummary event) {
        return event.status().map(Enum::name).orElse("code " + event.statusCode());
    }

    static Answer answer(EventSummary event) {
        return new Answer()
                .with("eventId", event.eventId())
                .with("eventType", event.eventType())
                .with("aggregateType", event.aggregateType())
                .with("aggregateId", event.aggregateId())
                .with("tenantId", event.tenantId())
                .with("status", status(event))
                .with("attempts", event.attempts())
                .with("createdAt", event.createdAt())
                .with("availableAt", event.availableAt())
                .with("doneAt", event.doneAt())
                .with("lockedBy", event.lockedBy())
                .with("lockedAt", event.lockedAt())
                .with("lastError", event.errorStart())
                .with("dedupKey", event.dedupKey())
                .with("priority", event.priority())
                .with("expiresAt", event.expiresAt());
    }
}
