package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.internal.EventRules;
import outbox.model.EventStatus;
import outbox.spi.Mark;
import outbox.spi.PrintableText;
import outbox.spi.SafeLogger;

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
 * Logs failed attempts with everything that an operator needs to find the event, and never its payload: the error is
 * the text of {@code last_error}.
 *
 * <p>A kind of failure is a listener, a class of exception and an outcome (again, put off without a count, dead). An
 * event is logged once per kind and hour, however often it is tried. A kind has at most {@value #LINES_PER_KIND}
 * lines a minute, all kinds together {@value #LINES}; the next line of a kind says how many failures were left out
 * before it. A dead event is an ERROR, a counted attempt a WARNING, one that is put off and not counted INFO.
 *
 * <p>Thread-safe. Never throws, and logs outside of its lock.
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

    /** How many lines an interval has seen, and what was left out since the last line. */
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
    private final ListenerNames names;
    private final List<EventInterceptor> interceptors;
    private final LongSupplier nanoTime;
    private final Lines all; // guarded by this
    private final Map<Kind, Lines> kinds = new LinkedHashMap<>(); // guarded by this
    private final Map<Told, Long> told = new LinkedHashMap<>(); // the time of the line, in nanoseconds; guarded by this

    FailureLog(
            @Nullable String table, ListenerNames names, List<EventInterceptor> interceptors, LongSupplier nanoTime) {
        this.table = table;
        this.names = names;
        this.interceptors = List.copyOf(interceptors);
        this.nanoTime = nanoTime;
        this.all = new Lines(nanoTime.getAsLong());
    }

    /** The attempt failed, and this is its outcome. */
    void failed(Delivery delivery, Throwable failure, Mark outcome) {
        log(delivery, failure.getClass().getName(), outcome);
    }

    /** The event is dead without an attempt, for the reason that the mark has. */
    void dead(Delivery delivery, Mark outcome) {
        log(delivery, outcome.error(), outcome);
    }

    private void log(Delivery delivery, String failure, Mark mark) {
        try {
            Level level = level(mark);
            if (LOG.isLoggable(level)) {
                EventEnvelope event = delivery.envelope();
                String listener = names.of(event);
                long leftOut = leftOut(event.eventId(), new Kind(listener, failure, outcome(mark)));
                if (leftOut >= 0) {
                    write(level, event, fields(delivery, listener, mark), mark.error(), leftOut);
                }
            }
        } catch (RuntimeException | Error e) {
            // The outcome must be written whatever the log does, and there is no other place to tell it.
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

    /** How many failures of this kind were left out before this one; -1 if this one is left out too. */
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
        told.remove(event); // so that it is the latest
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
        put(fields, "table", table == null ? event.headers().get(EventRules.RESERVED_HEADER_PREFIX + "table") : table);
        put(fields, "topic", event.eventType());
        put(fields, "event_id", event.eventId());
        put(fields, "tenant_id", event.tenantId());
        put(fields, "sequence", event.headers().get(EventRules.RESERVED_HEADER_PREFIX + "sequence"));
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

    /** A value with a blank or a quote could look like the next field. */
    private static String quoted(String value) {
        return value.matches("[\\w.:/@+-]+") ? value : EventRules.show(value);
    }

    private static void close(AutoCloseable scope) {
        try {
            scope.close();
        } catch (Exception | Error e) { // of the user's code, and no reason to lose the others
            LOG.log(Level.DEBUG, "The fields of a log line could not be taken back", e);
        }
    }
}
