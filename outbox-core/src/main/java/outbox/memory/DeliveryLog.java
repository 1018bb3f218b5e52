package outbox.memory;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.dispatch.EventInterceptor;
import outbox.internal.EventRules;
import outbox.spi.ErrorText;
import outbox.spi.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Logs a line for each attempt to {@code outbox.memory.delivery}, with type, dedupKey, aggregate, correlationId,
 * attempt, latency and error: where events are in memory there is no table to look into. Failures are
 * warnings, the rest is for debugging. {@link MemoryOutbox} has one; other dispatchers take it as an interceptor, one
 * each.
 */
public final class DeliveryLog implements EventInterceptor {

    private static final Logger LOG = SafeLogger.named("outbox.memory.delivery");

    private record Attempt(int number, long startNanos) {}

    private final Map<String, Attempt> running = new ConcurrentHashMap<>(); // as many as the dispatcher runs

    @Override
    public void beforeDispatch(EventEnvelope event, int attempt) {
        running.put(event.eventId(), new Attempt(attempt, System.nanoTime()));
    }

    @Override
    public void afterDispatch(EventEnvelope event, @Nullable Exception error) {
        Attempt attempt = running.remove(event.eventId());
        Level level = error == null ? Level.DEBUG : Level.WARNING;
        if (!LOG.isLoggable(level)) {
            return;
        }
        StringBuilder line = new StringBuilder("type=").append(EventRules.show(event.eventType()));
        add(line, "dedupKey", event.dedupKey());
        add(line, "aggregateType", event.aggregateType());
        add(line, "aggregateId", event.aggregateId());
        add(line, "correlationId", event.correlationId());
        if (attempt != null) {
            line.append(" attempt=").append(attempt.number());
            line.append(" latencyMs=").append((System.nanoTime() - attempt.startNanos()) / 1_000_000);
        }
        if (error != null) {
            add(line, "error", ErrorText.of(event, error));
        }
        LOG.log(level, line.toString());
    }

    private static void add(StringBuilder line, String field, @Nullable String value) {
        if (value != null) {
            line.append(' ').append(field).append('=').append(EventRules.show(value));
        }
    }
}
