package outbox;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.Objects;

/**
 * Thrown by a listener to retry its event after a delay that the listener chooses, independent of the retry policy.
 * It may also be the failure of a stage or of an event in a batch.
 *
 * <p>By default it does not count as an attempt, because the destination was busy and the event did not cause the
 * failure. The delay is then never shorter than {@link #SHORTEST_UNCOUNTED}, so that an event is not retried in a
 * tight loop. If it is counted, it is a failed attempt like any other and may be the last one.
 */
public class RetryLaterException extends OutboxException {

    /** The shortest delay after an attempt that was not counted. */
    public static final Duration SHORTEST_UNCOUNTED = Duration.ofSeconds(1);

    private static final long serialVersionUID = 1L;

    private final Duration delay;
    private final boolean counted;

    /** Creates an exception that does not count as an attempt. */
    public RetryLaterException(Duration delay, String why) {
        this(delay, why, false, null);
    }

    /** Creates an exception. A delay of more than one year is treated as one year. */
    public RetryLaterException(Duration delay, String why, boolean counted, @Nullable Throwable cause) {
        super(Objects.requireNonNull(why, "why"), cause);
        if (delay.isNegative()) {
            throw new IllegalArgumentException("delay must not be negative: " + delay);
        }
        this.delay = delay;
        this.counted = counted;
    }

    public Duration delay() {
        return delay;
    }

    public boolean isCounted() {
        return counted;
    }
}
