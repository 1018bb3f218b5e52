package outbox.reconcile;

import org.jspecify.annotations.Nullable;

import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.Objects;
import java.util.Optional;

/** When a job runs: at intervals, or at the times of a cron expression. Immutable. */
public final class Schedule {

    private static final String EVERY = "every ";
    private static final String CRON = "cron ";
    private static final Duration SHORTEST = Duration.ofSeconds(1);
    private static final Duration LONGEST = Duration.ofDays(366);

    private final @Nullable Duration interval;
    private final @Nullable Cron cron; // exactly one of interval and cron is not null

    private Schedule(@Nullable Duration interval, @Nullable Cron cron) {
        this.interval = interval;
        this.cron = cron;
    }

    /**
     * Runs a job at once, and then again after the given interval from the end of each run; 1 second to 366 days.
     */
    public static Schedule every(Duration interval) {
        if (interval.compareTo(SHORTEST) < 0 || interval.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException(
                    "interval must be between " + SHORTEST + " and " + LONGEST.toDays() + " days: " + interval);
        }
        return new Schedule(interval, null);
    }

    /**
     * Runs a job at the times of a cron expression. It has five fields: minute, hour, day of month, month, day of
     * week. An expression with six fields begins with the seconds. A field is {@code *}, a number, a range such as
     * {@code 1-5}, a {@code *} or a range with a step such as {@code 1-31/5}, or a list of these. Months and days of
     * the week also have names ({@code JAN}, {@code MON}). Sunday is 0 or 7. If both the day of month and the day of
     * week are restricted, a day that matches one of them is enough.
     *
     * <p>A time that the clock of the zone skips in spring is moved to after the gap, by the length of the gap. A
     * time that occurs twice in autumn counts once, unless the hour is {@code *}.
     *
     * @throws IllegalArgumentException if the expression is invalid, or if no day ever matches it
     */
    public static Schedule cron(String expression, ZoneId zone) {
        return new Schedule(null, new Cron(expression, Objects.requireNonNull(zone, "zone")));
    }

    /** Returns when the job runs for the first time. */
    Instant first(Instant now) {
        return interval != null ? now : next(now);
    }

    /** Returns when the job runs again after a run that ended now. */
    Instant next(Instant now) {
        return cron != null ? cron.next(now) : now.plus(Objects.requireNonNull(interval));
    }

    /** Parses the text of a schedule that another node has stored. Returns empty if this node cannot parse it. */
    static Optional<Schedule> parse(String words) {
        int zone = words.lastIndexOf(' ') + 1;
        try {
            if (words.startsWith(EVERY)) {
                return Optional.of(every(Duration.parse(words.substring(EVERY.length()))));
            }
            if (words.startsWith(CRON) && zone > CRON.length()) {
                return Optional.of(cron(words.substring(CRON.length(), zone), ZoneId.of(words.substring(zone))));
            }
        } catch (IllegalArgumentException | DateTimeException e) {
            return Optional.empty();
        }
        return Optional.empty();
    }

    /** Returns a text that people and {@link #parse} can read. Nodes compare it to detect a changed schedule. */
    @Override
    public String toString() {
        return cron != null ? CRON + cron : EVERY + interval;
    }
}
