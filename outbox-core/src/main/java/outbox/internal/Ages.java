package outbox.internal;

import java.time.Duration;
import java.time.Instant;

/** How old something is. Times of a table may be any, so an age has a largest value and never fails. */
public final class Ages {

    /** An age of which nobody wants to know more: 10,000 years. */
    public static final Duration LONGEST = Duration.ofDays(3_652_425);

    private Ages() {}

    /** From a time to now: zero if it has not come yet, and at most {@link #LONGEST}. */
    public static Duration between(Instant time, Instant now) {
        Duration age = Duration.between(time, now);
        if (age.isNegative()) {
            return Duration.ZERO;
        }
        return age.compareTo(LONGEST) > 0 ? LONGEST : age;
    }

    /** The same in milliseconds. */
    public static long millis(Instant time, Instant now) {
        return between(time, now).toMillis();
    }
}
