package outbox;

import org.jspecify.annotations.Nullable;

import java.time.Duration;

/**
 * What became of an event, for listeners that return it instead of throwing: what an {@link OutcomeEventListener} answers, what the stage of an {@link AsyncEventListener} may
 * complete with, what {@link BatchOutcome#with} takes. Immutable.
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

    /** Try again then, without counting an attempt; at least {@link RetryLaterException#SHORTEST_UNCOUNTED}. */
    public static DeliveryOutcome retryAfter(Duration delay, String why) {
        return new DeliveryOutcome(new RetryLaterException(delay, why));
    }

    /** The attempt failed; if it was not the last, try again then. */
    public static DeliveryOutcome failedRetryAfter(Duration delay, String why) {
        return new DeliveryOutcome(new RetryLaterException(delay, why, true, null));
    }

    /** DEAD at once. */
    public static DeliveryOutcome giveUp(String why) {
        return new DeliveryOutcome(new GiveUpException(why));
    }

    /** The exception that says the same; null if the event was delivered. */
    public @Nullable OutboxException failure() {
        return failure;
    }

    @Override
    public String toString() {
        return failure == null ? "delivered" : failure.toString();
    }
}
