package outbox.spring.boot;

import org.jspecify.annotations.Nullable;
import org.slf4j.MDC;
import outbox.EventEnvelope;
import outbox.dispatch.EventInterceptor;

import java.util.List;

/** Names the event in each line that its listener logs. A call with several events has their type only, if that is one. */
final class LoggedEvent implements EventInterceptor {

    static final String EVENT_ID = "outbox.event.id";
    static final String EVENT_TYPE = "outbox.event.type";

    @Override
    public AutoCloseable enterListener(List<EventEnvelope> events) {
        EventEnvelope first = events.get(0);
        boolean one = events.stream().allMatch(event -> event.eventType().equals(first.eventType()));
        String idBefore = set(EVENT_ID, events.size() == 1 ? first.eventId() : null);
        String typeBefore = set(EVENT_TYPE, one ? first.eventType() : null);
        return () -> {
            set(EVENT_ID, idBefore);
            set(EVENT_TYPE, typeBefore);
        };
    }

    /** Answers the value before: a listener may run inside of another one. */
    private static @Nullable String set(String key, @Nullable String value) {
        String before = MDC.get(key);
        if (value == null) {
            MDC.remove(key);
        } else {
            MDC.put(key, value);
        }
        return before;
    }
}
