package outbox.dispatch;

import org.jspecify.annotations.Nullable;

import java.time.Duration;

/** How many events may run concurrently, and how many may start per period, on one dispatcher. Immutable. */
public final class Limit {

    private static final Duration LONGEST = Duration.ofDays(1);

    /** A rate as a token bucket: one token per event, filled evenly. */
    record Rate(int events, Duration per, int burst) {}

    private final int concurrency;
    private final @Nullable Rate rate;

    private Limit(int concurrency, @Nullable Rate rate) {
        this.concurrency = concurrency;
        this.rate = rate;
    }

    /** Limits the number of concurrent events. Each event of a batch counts. */
    public static Limit concurrency(int most) {
        if (most < 1) {
            throw new IllegalArgumentException("concurrency must be at least 1: " + most);
        }
        return new Limit(most, null);
    }

    /**
     * Limits the number of events that start per period, spread evenly. After an idle time, up to {@code events} may
     * start at once.
     */
    public static Limit rate(int events, Duration per) {
        return rate(events, per, events);
    }

    /**
     * Limits the number of events that start per period, spread evenly. After an idle time, up to {@code burst} may
     * start at once.
     */
    public static Limit rate(int events, Duration per, int burst) {
        if (events < 1 || burst < 1) {
            throw new IllegalArgumentException("events and burst must be at least 1: " + events + " and " + burst);
        }
        if (per.isZero() || per.isNegative() || per.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException("per must be positive and at most a day: " + per);
        }
        if (burst > Long.MAX_VALUE / 2 / per.toNanos()) {
            throw new IllegalArgumentException("burst is too large for " + per + ": " + burst);
        }
        return new Limit(Integer.MAX_VALUE, new Rate(events, per, burst));
    }

    /** Returns the same rate with a limit on concurrent events. */
    public Limit andConcurrency(int most) {
        return new Limit(concurrency(most).concurrency, rate);
    }

    int concurrency() {
        return concurrency;
    }

    @Nullable
    Rate rate() {
        return rate;
    }
}
