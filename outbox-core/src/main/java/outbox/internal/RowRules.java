package outbox.internal;

import org.jspecify.annotations.Nullable;
import outbox.EventHeaders;
import outbox.InvalidEventException;
import outbox.model.OutboxEvent;

import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/**
 * Checks that a row can be delivered, regardless of which program wrote it. {@link EventRules} apply to events
 * before they are written. A row that was written with SQL may violate them and can usually still be delivered.
 */
public final class RowRules {

    /** The error text for a row that is due at {@link EventRules#NEVER} or later. */
    public static final String NEVER_DUE = "Cannot be delivered: its due time is out of range, it is "
            + EventRules.NEVER + " or later. Correct the time, then replay the event.";

    private static final Instant FIRST = Instant.parse("0001-01-01T00:00:00Z");
    private static final Instant AFTER_LAST = Instant.parse("+10000-01-01T00:00:00Z");
    private static final long FAR_SECONDS =
            Instant.parse("+900000000-01-01T00:00:00Z").getEpochSecond();
    private static final int MOST_ATTEMPTS = 1_000_000_000; // a higher value might overflow the column

    private RowRules() {}

    /**
     * Rejects a row that cannot be delivered.
     *
     * @throws InvalidEventException with the reason
     */
    public static void check(OutboxEvent row) {
        String fault = row.fault();
        if (fault != null) {
            throw new InvalidEventException(fault);
        }
        checkTime("The time at which it was stored", row.createdAt(), EventRules.NEVER);
        checkTime("The due time", row.availableAt(), EventRules.NEVER);
        checkTime("The time of the fact", row.occurredAt(), AFTER_LAST);
        checkTime("The deadline", row.expiresAt(), AFTER_LAST);
        Duration dedupFor = row.dedupFor();
        if (dedupFor != null) {
            EventRules.checkSpan("The span for which it keeps its key", dedupFor);
        }
        if (row.attempts() < 0 || row.attempts() > MOST_ATTEMPTS) {
            throw new InvalidEventException("The number of attempts is out of range: " + row.attempts());
        }
    }

    private static void checkTime(String what, @Nullable Instant time, Instant end) {
        if (time != null && (time.isBefore(FIRST) || !time.isBefore(end))) {
            throw new InvalidEventException(
                    what + " is out of range: " + show(time) + ". It must be from " + FIRST + " on and before " + end);
        }
    }

    /** Formats a time. Drivers return the first or last time that Java supports for an infinity. */
    private static String show(Instant time) {
        long seconds = time.getEpochSecond();
        return Math.abs(seconds) < FAR_SECONDS ? time.toString() : seconds < 0 ? "-infinity" : "infinity";
    }

    /**
     * Applies the limits of {@link EventRules#checkHeaders}, separately to headers of the framework and to
     * all others.
     */
    public static void checkHeaders(Map<String, String> headers) {
        Map<String, String> given = new LinkedHashMap<>();
        Map<String, String> reserved = new LinkedHashMap<>();
        headers.forEach((name, value) -> {
            if (name.toLowerCase(Locale.ROOT).startsWith(EventHeaders.RESERVED_PREFIX)) {
                reserved.put(name, value);
            } else {
                given.put(name, value);
            }
        });
        EventRules.checkHeaders(reserved);
        EventRules.checkHeaders(given);
        given.keySet().forEach(EventRules::checkHeaderName);
    }
}
