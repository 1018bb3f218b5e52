package outbox.spring.boot.monitoring;

import org.jspecify.annotations.Nullable;
import org.slf4j.MDC;
import outbox.EventEnvelope;
import outbox.dispatch.EventInterceptor;
import outbox.internal.text.PrintableText;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Adds the event to the MDC of each line that its listener logs, and of the lines that the library logs about a
 * failed attempt. For a call with several events, only the event type is added, and only if all have the same type.
 */
final class LoggedEvent implements EventInterceptor {

    static final String EVENT_ID = "outbox.event.id";
    static final String EVENT_TYPE = "outbox.event.type";

    /** The MDC keys of the fields that the library passes. */
    private static final Map<String, String> KEYS = Map.of(
            "table", "outbox.table",
            "topic", EVENT_TYPE,
            "event_id", EVENT_ID,
            "tenant_id", "outbox.event.tenant",
            "sequence", "outbox.event.sequence",
            "attempts", "outbox.event.attempt",
            "listener", "outbox.listener",
            "outcome", "outbox.outcome");

    @Override
    public AutoCloseable enterListener(List<EventEnvelope> events) {
        EventEnvelope first = events.get(0);
        boolean one = events.stream().allMatch(event -> event.eventType().equals(first.eventType()));
        Map<String, @Nullable String> values = new HashMap<>();
        values.put(EVENT_ID, events.size() == 1 ? first.eventId() : null);
        values.put(EVENT_TYPE, one ? first.eventType() : null);
        return set(values);
    }

    @Override
    public AutoCloseable enterLog(EventEnvelope event, Map<String, String> fields) {
        Map<String, @Nullable String> values = new HashMap<>();
        KEYS.forEach((field, key) -> values.put(key, fields.get(field)));
        return set(values);
    }

    /** Returns a handle that restores the previous values, because a listener may run inside another one. */
    private static AutoCloseable set(Map<String, @Nullable String> values) {
        Map<String, @Nullable String> before = new HashMap<>();
        values.forEach((key, value) -> before.put(key, put(key, value)));
        return () -> before.forEach(LoggedEvent::put);
    }

    private static @Nullable String put(String key, @Nullable String value) {
        String before = MDC.get(key);
        if (value == null) {
            MDC.remove(key);
        } else {
            MDC.put(key, PrintableText.of(value));
        }
        return before;
    }
}
