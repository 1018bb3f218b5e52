package outbox.spring.boot.actuate;

import org.jspecify.annotations.Nullable;
import outbox.admin.EventDetails;
import outbox.admin.EventDetails.Attempt;
import outbox.admin.EventSummary;
import outbox.model.OutboxEvent;
import outbox.spi.ErrorText;

import java.util.Base64;
import java.util.function.UnaryOperator;

/**
 * Converts an event to the form that the endpoint shows. Payloads and header values may be confidential, so they are
 * shown only if that is enabled. The dispatcher keeps payloads out of error texts. The error texts of a single event
 * are filtered once more, because another program may have stored them.
 */
final class EventView {

    private EventView() {}

    static View of(EventSummary event) {
        return new View()
                .with("eventId", event.eventId())
                .with("eventType", event.eventType())
                .with("aggregateType", event.aggregateType())
                .with("aggregateId", event.aggregateId())
                .with("tenantId", event.tenantId())
                .with("status", event.status().map(Enum::name).orElse("unknown " + event.statusCode()))
                .with("attempts", event.attempts())
                .with("availableAt", event.availableAt())
                .with("createdAt", event.createdAt())
                .with("doneAt", event.doneAt())
                .with("lockedBy", event.lockedBy())
                .with("lockedAt", event.lockedAt())
                .with("error", event.errorStart())
                .with("dedupKey", event.dedupKey())
                .with("priority", event.priority())
                .with("expiresAt", event.expiresAt());
    }

    static View of(EventDetails details, boolean showPayload) {
        OutboxEvent event = details.event();
        UnaryOperator<String> shown = showPayload ? error -> error : error -> ErrorText.withoutPayload(event, error);
        View view = of(details.summary()).with("error", applied(shown, details.lastError()));
        view.put(
                "history",
                details.history().stream()
                        .map(attempt -> attempt(attempt, shown))
                        .toList());
        if (showPayload) {
            byte[] bytes = event.payloadBytes();
            view.with(
                            "payloadBase64",
                            bytes == null ? null : Base64.getEncoder().encodeToString(bytes))
                    .with("payload", bytes == null ? event.payloadJson() : null)
                    .with("headers", event.headersJson());
        }
        return view;
    }

    private static @Nullable String applied(UnaryOperator<String> shown, @Nullable String error) {
        return error == null ? null : shown.apply(error);
    }

    private static View attempt(Attempt attempt, UnaryOperator<String> shown) {
        return new View()
                .with("number", attempt.number())
                .with("startedAt", attempt.startedAt())
                .with("took", attempt.took())
                .with("node", attempt.node())
                .with("error", applied(shown, attempt.error()));
    }
}
