package outbox.internal;

import java.time.Duration;
import java.time.Instant;

/** Computes ages. A table may contain any time, so an age has an upper limit and the computation never fails. */
public final class Ages {

    /** The upper limit: 10,000 years. */
    public static final Duration LONGEST = Duration.ofDays(3_652_425);

    private Ages() {}

    /**
     * Returns the time between {@code time} and now: zero for a time in the future, and at most {@link #LONGEST}.
     */
    public static Duration between(Instant time, Instant now) {
        Duration age = Duration.between(time, now);
        if (age.isNegative()) {
            return Duration.ZERO;
        }
        return age.compareTo(LONGEST) > 0 ? LONGEST : age;
    }

    /** Like {@link #between}, in milliseconds. */
    public static long millis(Instant time, Instant now) {
        return between(time, now).toMillis();
    }
}
