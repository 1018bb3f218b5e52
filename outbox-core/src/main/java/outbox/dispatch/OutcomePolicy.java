package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.spi.ErrorText;
import outbox.spi.Mark;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;

/** Decides what becomes of an event after a run: DONE, RETRY after a while, or DEAD. */
final class OutcomePolicy {

    private static final Logger LOG = System.getLogger(OutcomePolicy.class.getName());
    private static final Duration LONGEST_DELAY = Duration.ofDays(365);

    private final RetryPolicy retryPolicy;
    private final int maxAttempts;

    OutcomePolicy(RetryPolicy retryPolicy, int maxAttempts) {
        this.retryPolicy = retryPolicy;
        this.maxAttempts = maxAttempts;
    }

    Mark outcome(Delivery delivery, @Nullable Throwable failure) {
        String eventId = delivery.eventId();
        String token = delivery.token();
        if (failure == null) {
            return Mark.done(eventId, token);
        }
        String error = ErrorText.of(failure);
        if (failure instanceof UnroutableEventException) {
            return Mark.dead(eventId, token, false, error);
        }
        boolean counts = !delivery.isRunRecorded();
        if (delivery.attempt() >= maxAttempts) {
            return Mark.dead(eventId, token, counts, error);
        }
        return Mark.retry(eventId, token, counts, delayAfter(delivery), error);
    }

    /** Whether runs that ended with their process have used up all attempts. */
    boolean isExhausted(Delivery delivery) {
        return delivery.attempts() >= maxAttempts;
    }

    Mark exhausted(Delivery delivery) {
        return Mark.dead(
                delivery.eventId(),
                delivery.token(),
                false,
                "The process ended, or lost its lease, during " + delivery.attempts()
                        + " recorded runs of this event's listener. Find out what the listener does to the process, then replay the event.");
    }

    private Duration delayAfter(Delivery delivery) {
        try {
            long millis = retryPolicy.computeDelayMs(delivery.attempt());
            return Duration.ofMillis(Math.max(0, Math.min(millis, LONGEST_DELAY.toMillis())));
        } catch (Throwable e) { // Errors too: the listener has run, and its attempt must count
            LOG.log(Level.ERROR, "The retry policy failed for event " + delivery.eventId() + "; it waits a minute", e);
            return Duration.ofMinutes(1);
        }
    }
}
