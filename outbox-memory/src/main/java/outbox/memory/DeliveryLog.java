package outbox.memory;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.dispatch.EventInterceptor;
import outbox.internal.EventRules;
import outbox.internal.text.SafeLogger;
import outbox.spi.ErrorText;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Logs one line for each attempt to {@code outbox.memory.delivery}, with type, dedupKey, aggregate, correlationId,
 * attempt, latency and error, because events in memory have no table that an operator could query. Failures are
 * logged as warnings, successes at debug level. {@link MemoryOutbox} uses it already. For another dispatcher, add a
 * new instance as an interceptor.
 */
public final class DeliveryLog implements EventInterceptor {

    private static final Logger LOG = SafeLogger.named("outbox.memory.delivery");

    private record Attempt(int number, long startNanos) {}

    // one entry per running attempt; dispatcher threads read and write
    private final Map<String, Attempt> running = new ConcurrentHashMap<>();

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
