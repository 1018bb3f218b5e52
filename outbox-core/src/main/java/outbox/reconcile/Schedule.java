package outbox.reconcile;

import org.jspecify.annotations.Nullable;

import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.util.Objects;
import java.util.Optional;

/** When a job runs: in intervals, or at the times of a cron expression. Immutable. */
public final class Schedule {

    private static final String EVERY = "every ";
    private static final String CRON = "cron ";
    private static final Duration SHORTEST = Duration.ofSeconds(1);
    private static final Duration LONGEST = Duration.ofDays(366);

    private final @Nullable Duration interval;
    private final @Nullable Cron cron; // one of the two is there

    private Schedule(@Nullable Duration interval, @Nullable Cron cron) {
        this.interval = interval;
        this.cron = cron;
    }

    /** At once, and then so long after the end of each run; from a second to 366 days. */
    public static Schedule every(Duration interval) {
        if (interval.compareTo(SHORTEST) < 0 || interval.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException(
                    "interval must be between " + SHORTEST + " and " + LONGEST.toDays() + " days: " + interval);
        }
        return new Schedule(interval, null);
    }

    /**
     * At the times of a cron expression of five fields: minute, hour, day of month, month, day of week; or of six,
     * with the second first. A field is {@code *}, a number, a range {@code 1-5}, either with a step {@code *}{@code
     * /5}, or a
     * list of those; months and days of the week have names too ({@code JAN}, {@code MON}), and Sunday is 0 or 7. If both days are restricted, one of them is enough.
     *
     * <p>A time that the clock of the zone skips in spring is taken as much later; one that comes twice in autumn counts once, unless the hour is {@code *}.
     *
     * @throws IllegalArgumentException if it cannot be read, or no day ever fits it
     */
    public static Schedule cron(String expression, ZoneId zone) {
        return new Schedule(null, new Cron(expression, Objects.requireNonNull(zone, "zone")));
    }

    /** When the job runs for the first time. */
    Instant first(Instant now) {
        return interval != null ? now : next(now);
    }

    /** When the job runs after a run that ended now. */
    Instant next(Instant now) {
        return cron != null ? cron.next(now) : now.plus(Objects.requireNonNull(interval));
    }

    /** The schedule whose words another node wrote down; empty if this one cannot read them. */
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

    /** As people read it, and as {@link #parse} does; also what tells nodes that the schedule of a job has changed. */
    @Override
    public String toString() {
        return cron != null ? CRON + cron : EVERY + interval;
    }
}
