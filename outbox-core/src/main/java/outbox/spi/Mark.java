package outbox.spi;

import outbox.model.EventStatus;

import java.time.Duration;

/**
 * The outcome of a claim, to be written to its event.
 *
 * @param token the token of the claim that the outcome belongs to
 * @param status DONE, RETRY or DEAD
 * @param countsAttempt whether the attempt must still be counted; false if it was counted before the delivery, or if
 * there was no attempt
 * @param retryAfter how long a RETRY waits, measured from the time of the mark; zero otherwise
 * @param error the reason for RETRY or DEAD; empty for DONE
 */
public record Mark(
        String eventId, String token, EventStatus status, boolean countsAttempt, Duration retryAfter, String error) {

    public Mark {
        if (status == EventStatus.NEW) {
            throw new IllegalArgumentException("NEW is not an outcome (event " + eventId + ")");
        }
    }

    public static Mark done(String eventId, String token) {
        return new Mark(eventId, token, EventStatus.DONE, false, Duration.ZERO, "");
    }

    public static Mark retry(String eventId, String token, boolean countsAttempt, Duration retryAfter, String error) {
        return new Mark(eventId, token, EventStatus.RETRY, countsAttempt, retryAfter, error);
    }

    public static Mark dead(String eventId, String token, boolean countsAttempt, String error) {
        return new Mark(eventId, token, EventStatus.DEAD, countsAttempt, Duration.ZERO, error);
    }

    /** The same outcome under another claim. */
    public Mark withToken(String newer) {
        return new Mark(eventId, newer, status, countsAttempt, retryAfter, error);
    }

    /** The same outcome with another text. */
    public Mark withError(String text) {
        return new Mark(eventId, token, status, countsAttempt, retryAfter, text);
    }
}
