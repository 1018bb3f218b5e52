package outbox.spring.boot.actuate;

import org.jspecify.annotations.Nullable;
import outbox.admin.Attempt;
import outbox.admin.EventDetails;
import outbox.admin.EventSummary;
import outbox.model.OutboxEvent;
import outbox.spi.ErrorText;

import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.UnaryOperator;

/**
 * Converts an event to the form that the endpoint shows. Payloads and header values may be confidential, so they are
 * shown only if that is enabled. The dispatcher keeps payloads out of error texts. The error texts of a single event
 * are filtered once more, because another program may have stored them.
 */
final class EventView {

    private EventView() {}

    static Map<String, Object> of(EventSummary event) {
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("eventId", event.eventId());
        view.put("eventType", event.eventType());
        put(view, "aggregateType", event.aggregateType());
        put(view, "aggregateId", event.aggregateId());
        put(view, "tenantId", event.tenantId());
        view.put("status", event.status().map(Enum::name).orElse("unknown " + event.statusCode()));
        view.put("attempts", event.attempts());
        put(view, "availableAt", event.availableAt());
        put(view, "createdAt", event.createdAt());
        put(view, "doneAt", event.doneAt());
        put(view, "lockedBy", event.lockedBy());
        put(view, "lockedAt", event.lockedAt());
        put(view, "error", event.errorStart());
        put(view, "dedupKey", event.dedupKey());
        view.put("priority", event.priority());
        put(view, "expiresAt", event.expiresAt());
        return view;
    }

    static Map<String, Object> of(EventDetails details, boolean showPayload) {
        Map<String, Object> view = of(details.summary());
        UnaryOperator<String> shown =
                showPayload ? error -> error : error -> ErrorText.withoutPayload(details.event(), error);
        put(view, "error", applied(shown, details.lastError()));
        view.put(
                "history",
                details.history().stream()
                        .map(attempt -> attempt(attempt, shown))
                        .toList());
        if (showPayload) {
            showPayload(view, details.event());
            put(view, "headers", details.event().headersJson());
        }
        return view;
    }

    private static void showPayload(Map<String, Object> view, OutboxEvent event) {
        byte[] bytes = event.payloadBytes();
        if (bytes != null) {
            view.put("payloadBase64", Base64.getEncoder().encodeToString(bytes));
        } else {
            put(view, "payload", event.payloadJson());
        }
    }

    private static @Nullable String applied(UnaryOperator<String> shown, @Nullable String error) {
        return error == null ? null : shown.apply(error);
    }

    private static Map<String, Object> attempt(Attempt attempt, UnaryOperator<String> shown) {
        Map<String, Object> view = new LinkedHashMap<>();
        view.put("number", attempt.number());
        put(view, "startedAt", attempt.startedAt());
        RelayView.putDuration(view, "took", attempt.took());
        view.put("node", attempt.node());
        put(view, "error", applied(shown, attempt.error()));
        return view;
    }

    private static void put(Map<String, Object> view, String key, @Nullable Object value) {
        if (value != null) {
            view.put(key, value.toString());
        }
    }
}
