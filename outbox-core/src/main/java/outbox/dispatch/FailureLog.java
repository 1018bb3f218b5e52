package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.EventHeaders;
import outbox.internal.EventRules;
import outbox.internal.text.PrintableText;
import outbox.internal.text.SafeLogger;
import outbox.model.EventStatus;
import outbox.registry.ListenerRegistry;
import outbox.spi.Mark;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * Logs failed attempts with all data that an operator needs to find the event, but never its payload. The error is
 * the text of {@code last_error}.
 *
 * <p>A kind of failure is a combination of listener, exception class and outcome. The outcome is {@code retry},
 * {@code dead}, or {@code put_off} for a retry that costs no attempt. An event is logged once per kind and hour, no
 * matter how often it is retried. A kind has at most {@value #LINES_PER_KIND} lines per minute, all kinds together
 * {@value #LINES}. The next line of a kind says how many failures were omitted before it. A dead event is logged as
 * ERROR, a counted attempt as WARNING, and a retry that costs no attempt as INFO.
 *
 * <p>Thread-safe. Never throws. Writes log lines outside its lock.
 */
final class FailureLog {

    static final int LINES_PER_KIND = 10;
    static final int LINES = 60;
    static final Duration INTERVAL = Duration.ofMinutes(1);
    static final Duration REMINDER = Duration.ofHours(1);

    private static final Logger LOG = SafeLogger.of(FailureLog.class);
    private static final int MOST_KINDS = 200;
    private static final int MOST_EVENTS = 2_000;
    private static final int MAX_VALUE = 200;

    private record Kind(String listener, String failure, String outcome) {}

    private record Told(String eventId, Kind kind) {}

    /** The number of lines in an interval, and the number of failures omitted since the last line. */
    private static final class Lines {
        private long sinceNanos;
        private int lines;
        private long leftOut;

        Lines(long sinceNanos) {
            this.sinceNanos = sinceNanos;
        }

        boolean hasRoom(int most, long now) {
            if (now - sinceNanos >= INTERVAL.toNanos()) {
                sinceNanos = now;
                lines = 0;
            }
            return lines < most;
        }
    }

    private final @Nullable String table;
    private final ListenerRegistry registry;
    private final List<EventInterceptor> interceptors;
    private final LongSupplier nanoTime;
    private final Lines all; // guarded by this
    private final Map<Kind, Lines> kinds = new LinkedHashMap<>(); // guarded by this
    // time of the log line, in nanoseconds; guarded by this
    private final Map<Told, Long> told = new LinkedHashMap<>();

    FailureLog(
            @Nullable String table,
            ListenerRegistry registry,
            List<EventInterceptor> interceptors,
            LongSupplier nanoTime) {
        this.table = table;
        this.registry = registry;
        this.interceptors = List.copyOf(interceptors);
        this.nanoTime = nanoTime;
        this.all = new Lines(nanoTime.getAsLong());
    }

    /** Logs a failed attempt with its outcome. */
    void failed(Delivery delivery, Throwable failure, Mark outcome) {
        log(delivery, failure.getClass().getName(), outcome);
    }

    /** Logs an event that became dead without an attempt. The mark contains the reason. */
    void dead(Delivery delivery, Mark outcome) {
        log(delivery, outcome.error(), outcome);
    }

    private void log(Delivery delivery, String failure, Mark mark) {
        try {
            Level level = level(mark);
            if (LOG.isLoggable(level)) {
                EventEnvelope event = delivery.envelope();
                String listener = Route.of(delivery, registry).name();
                long leftOut = leftOut(event.eventId(), new Kind(listener, failure, outcome(mark)));
                if (leftOut >= 0) {
                    write(level, event, fields(delivery, listener, mark), mark.error(), leftOut);
                }
            }
        } catch (RuntimeException | Error e) {
            // The outcome must be written even if logging fails, and there is no other place to report this.
        }
    }

    private static Level level(Mark mark) {
        if (mark.status() == EventStatus.DEAD) {
            return Level.ERROR;
        }
        return mark.countsAttempt() ? Level.WARNING : Level.INFO;
    }

    private static String outcome(Mark mark) {
        if (mark.status() == EventStatus.DEAD) {
            return "dead";
        }
        return mark.countsAttempt() ? "retry" : "put_off";
    }

    /** Returns how many failures of this kind were omitted before this one, or -1 if this one is omitted too. */
    private synchronized long leftOut(String eventId, Kind kind) {
        long now = nanoTime.getAsLong();
        Lines ofKind = kinds.computeIfAbsent(kind, any -> new Lines(now));
        forgetOldest(kinds, MOST_KINDS);
        Told event = new Told(eventId, kind);
        Long before = told.get(event);
        boolean isNews = before == null || now - before >= REMINDER.toNanos();
        if (!isNews || !ofKind.hasRoom(LINES_PER_KIND, now) || !all.hasRoom(LINES, now)) {
            ofKind.leftOut++;
            return -1;
        }
        told.remove(event); // remove first, so that the entry becomes the latest
        told.put(event, now);
        forgetOldest(told, MOST_EVENTS);
        ofKind.lines++;
        all.lines++;
        long leftOut = ofKind.leftOut;
        ofKind.leftOut = 0;
        return leftOut;
    }

    private static void forgetOldest(Map<?, ?> map, int most) {
        if (map.size() > most) {
            map.keySet().remove(map.keySet().iterator().next());
        }
    }

    private Map<String, String> fields(Delivery delivery, String listener, Mark mark) {
        EventEnvelope event = delivery.envelope();
        Map<String, String> fields = new LinkedHashMap<>();
        put(fields, "table", table == null ? event.headers().get(EventHeaders.TABLE) : table);
        put(fields, "topic", event.eventType());
        put(fields, "event_id", event.eventId());
        put(fields, "tenant_id", event.tenantId());
        put(fields, "sequence", event.headers().get(EventHeaders.SEQUENCE));
        put(fields, "attempts", Integer.toString(delivery.attempt()));
        put(fields, "listener", listener);
        put(fields, "outcome", outcome(mark));
        return fields;
    }

    private static void put(Map<String, String> fields, String name, @Nullable String value) {
        if (value != null) {
            fields.put(name, PrintableText.of(value, MAX_VALUE));
        }
    }

    private void write(Level level, EventEnvelope event, Map<String, String> fields, String error, long leftOut) {
        StringBuilder line = new StringBuilder("Delivery failed:");
        fields.forEach(
                (name, value) -> line.append(' ').append(name).append('=').append(quoted(value)));
        line.append(" error=").append(error);
        if (leftOut > 0) {
            line.append(" (and ").append(leftOut).append(" more failures of this kind since the last line)");
        }
        Deque<AutoCloseable> scopes = new ArrayDeque<>();
        try {
            for (EventInterceptor interceptor : interceptors) {
                AutoCloseable scope = interceptor.enterLog(event, fields);
                if (scope != null) {
                    scopes.push(scope);
                }
            }
            LOG.log(level, line.toString());
        } finally {
            scopes.forEach(FailureLog::close);
        }
    }

    /** Quotes a value that contains a blank or a quote, because it could look like the next field. */
    private static String quoted(String value) {
        return value.matches("[\\w.:/@+-]+") ? value : EventRules.show(value);
    }

    private static void close(AutoCloseable scope) {
        try {
            scope.close();
        } catch (Exception | Error e) { // from user code; the other scopes must still be closed
            LOG.log(Level.DEBUG, "The fields of a log line could not be taken back", e);
        }
    }
}
