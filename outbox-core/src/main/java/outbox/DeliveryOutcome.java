package outbox;

import org.jspecify.annotations.Nullable;

import java.time.Duration;

/**
 * The result of a delivery, for listeners that return it instead of throwing. An {@link OutcomeEventListener}
 * returns it, the stage of an {@link AsyncEventListener} may complete with it, and
 * {@link BatchEventListener.Outcome#with} takes it. Immutable.
 */
public final class DeliveryOutcome {

    private static final DeliveryOutcome DELIVERED = new DeliveryOutcome(null);

    private final @Nullable OutboxException failure;

    private DeliveryOutcome(@Nullable OutboxException failure) {
        this.failure = failure;
    }

    public static DeliveryOutcome delivered() {
        return DELIVERED;
    }

    /**
     * Retry after this delay, without counting an attempt. The delay is at least
     * {@link RetryLaterException#SHORTEST_UNCOUNTED}.
     */
    public static DeliveryOutcome retryAfter(Duration delay, String why) {
        return new DeliveryOutcome(new RetryLaterException(delay, why));
    }

    /** The attempt failed. If it was not the last attempt, retry after this delay. */
    public static DeliveryOutcome failedRetryAfter(Duration delay, String why) {
        return new DeliveryOutcome(new RetryLaterException(delay, why, true, null));
    }

    /** The event becomes DEAD immediately. */
    public static DeliveryOutcome giveUp(String why) {
        return new DeliveryOutcome(new GiveUpException(why));
    }

    /** Returns the equivalent exception, or null if the event was delivered. */
    public @Nullable OutboxException failure() {
        return failure;
    }

    @Override
    public String toString() {
        return failure == null ? "delivered" : failure.toString();
    }
}
