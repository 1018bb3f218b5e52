package outbox.reconcile;

import org.jspecify.annotations.Nullable;
import outbox.internal.EventRules;

import java.time.Duration;
import java.time.ZoneId;
import java.util.Objects;
import java.util.regex.Pattern;

/**
 * A job that repairs one kind of loss. It has a name, a schedule, a time window, and a query that finds facts whose
 * event or effect is missing. Immutable.
 *
 * <p>The name must never change, because the ids of the job's events and its checkpoint depend on it.
 */
public final class ReconcileJob {

    // every database compares these characters alike
    private static final Pattern NAME = Pattern.compile("[a-z0-9][a-z0-9._-]{0,63}");
    private static final Duration LONGEST = Duration.ofDays(3660);
    private static final Duration LONGEST_FIND = Duration.ofMinutes(10);

    private final String name;
    private final Schedule schedule;
    private final FactFinder finder;
    private final Duration window;
    private final Duration minimumAge;
    private final int batchSize;
    private final Duration timeLimit;

    private ReconcileJob(Builder builder) {
        this.name = builder.name;
        this.schedule = required("schedule", builder.schedule);
        this.finder = required("finder", builder.finder);
        this.window = builder.window;
        this.minimumAge = builder.minimumAge;
        this.batchSize = builder.batchSize;
        this.timeLimit = builder.timeLimit;
        if (minimumAge.compareTo(window) >= 0) {
            throw new IllegalArgumentException("minimumAge " + minimumAge + " must be less than window " + window
                    + ", or job " + name + " would look at nothing");
        }
    }

    private static <T> T required(String setting, @Nullable T value) {
        if (value == null) {
            throw new IllegalArgumentException(setting + " is required");
        }
        return value;
    }

    /**
     * Returns a builder for a job with this name.
     *
     * @param name 1 to 64 lower-case letters, digits or any of {@code . _ -}
     */
    public static Builder builder(String name) {
        return new Builder(checkName(name));
    }

    static String checkName(String name) {
        if (!NAME.matcher(name).matches()) {
            throw new IllegalArgumentException(
                    "The name of a job must be 1 to 64 lower-case letters, digits or any of . _ -, not "
                            + EventRules.show(name));
        }
        return name;
    }

    public String name() {
        return name;
    }

    public Schedule schedule() {
        return schedule;
    }

    FactFinder finder() {
        return finder;
    }

    Duration window() {
        return window;
    }

    Duration minimumAge() {
        return minimumAge;
    }

    int batchSize() {
        return batchSize;
    }

    Duration timeLimit() {
        return timeLimit;
    }

    @Override
    public String toString() {
        return name + " " + schedule;
    }

    /** Collects the settings of a job. Every setter rejects invalid values. Not thread-safe. */
    public static final class Builder {

        private final String name;
        private @Nullable Schedule schedule;
        private @Nullable FactFinder finder;
        private Duration window = Duration.ofDays(1);
        private Duration minimumAge = Duration.ofMinutes(5);
        private int batchSize = 100;
        private Duration timeLimit = Duration.ofSeconds(30);

        private Builder(String name) {
            this.name = name;
        }

        /** Required: when the job runs. */
        public Builder schedule(Schedule schedule) {
            this.schedule = Objects.requireNonNull(schedule, "schedule");
            return this;
        }

        /** See {@link Schedule#every}. */
        public Builder every(Duration interval) {
            return schedule(Schedule.every(interval));
        }

        /** See {@link Schedule#cron}. */
        public Builder cron(String expression, ZoneId zone) {
            return schedule(Schedule.cron(expression, zone));
        }

        /** Required: the query. */
        public Builder finder(FactFinder finder) {
            this.finder = Objects.requireNonNull(finder, "finder");
            return this;
        }

        /**
         * How far back the job searches, counted from the start of the last run that reached the end of its window,
         * or from now if no such run is known. At most ten years; default one day. The window must be longer than
         * the longest time until an event is delivered or dead.
         */
        public Builder window(Duration window) {
            if (window.isNegative() || window.isZero() || window.compareTo(LONGEST) > 0) {
                throw new IllegalArgumentException(
                        "window must be positive and at most " + LONGEST.toDays() + " days: " + window);
            }
            this.window = window;
            return this;
        }

        /**
         * Minimum age of a fact. It must be longer than a transaction and the delivery of its events take, so that
         * the job ignores events that are not delivered yet. Default 5 minutes.
         */
        public Builder minimumAge(Duration minimumAge) {
            if (minimumAge.isNegative()) {
                throw new IllegalArgumentException("minimumAge must not be negative: " + minimumAge);
            }
            this.minimumAge = minimumAge;
            return this;
        }

        /**
         * Maximum number of events that the finder returns and that one transaction writes, 1 to 1000; default 100.
         */
        public Builder batchSize(int batchSize) {
            if (batchSize < 1 || batchSize > 1000) {
                throw new IllegalArgumentException("batchSize must be between 1 and 1000: " + batchSize);
            }
            this.batchSize = batchSize;
            return this;
        }

        /**
         * Time limit for one call of the finder; at most 10 minutes, default 30 seconds. After it, the finder is
         * interrupted and the run fails.
         */
        public Builder timeLimit(Duration timeLimit) {
            if (timeLimit.isNegative() || timeLimit.isZero() || timeLimit.compareTo(LONGEST_FIND) > 0) {
                throw new IllegalArgumentException(
                        "timeLimit must be positive and at most " + LONGEST_FIND + ": " + timeLimit);
            }
            this.timeLimit = timeLimit;
            return this;
        }

        public ReconcileJob build() {
            return new ReconcileJob(this);
        }
    }
}
