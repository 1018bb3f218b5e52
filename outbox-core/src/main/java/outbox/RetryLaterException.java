package outbox;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.Objects;

/**
 * A listener's word that its event should be tried again after a time of its choice, whatever the retry policy says. Thrown, or handed over as the failure of a stage or of an event
 * in a batch.
 *
 * <p>Not counted unless it says so: the destination was busy, the event did nothing wrong. Such a wait is never shorter than {@link #SHORTEST_UNCOUNTED}, lest an event goes round and
 * round. Counted, it is a failed attempt like any other, and may be the last.
 */
public class RetryLaterException extends OutboxException {

    /** The shortest wait before a try that follows one that was not counted. */
    public static final Duration SHORTEST_UNCOUNTED = Duration.ofSeconds(1);

    private static final long serialVersionUID = 1L;

    private final Duration delay;
    private final boolean counted;

    /** Not counted as an attempt. */
    public RetryLaterException(Duration delay, String why) {
        this(delay, why, false, null);
    }

    /** The delay is at most a year; what is beyond is a year. */
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
