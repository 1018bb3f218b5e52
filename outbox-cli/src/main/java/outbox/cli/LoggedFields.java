package outbox.cli;

import outbox.EventEnvelope;
import outbox.dispatch.EventInterceptor;

import java.util.Map;

/**
 * The fields of the event that the current thread writes a log line about. The handlers of java.util.logging format a
 * line on the thread that logs it.
 */
final class LoggedFields implements EventInterceptor {

    private static final ThreadLocal<Map<String, String>> CURRENT = ThreadLocal.withInitial(Map::of);

    static Map<String, String> current() {
        return CURRENT.get();
    }

    @Override
    public AutoCloseable enterLog(EventEnvelope event, Map<String, String> fields) {
        CURRENT.set(fields);
        return CURRENT::remove;
    }
}
