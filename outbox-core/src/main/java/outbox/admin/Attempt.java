package outbox.admin;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.time.Instant;
import java.util.Objects;

/**
 * One delivery attempt from the history of an event. The history contains the last failed attempts and the success
 * after them. It is empty for an event that succeeds at the first attempt.
 *
 * @param number the number of the attempt, counted from 1 and again from 1 after a replay; an attempt that was not
 * counted has the same number as the next one
 * @param startedAt the start of the attempt by the database clock
 * @param took how long the listener ran, in milliseconds
 * @param node the node that ran the listener
 * @param error why the attempt failed; null for a success
 */
public record Attempt(
        String eventId,
        int number,
        Instant startedAt,
        Duration took,
        String node,
        @Nullable String error) {

    public Attempt {
        Objects.requireNonNull(eventId, "eventId");
        Objects.requireNonNull(startedAt, "startedAt");
        Objects.requireNonNull(took, "took");
        Objects.requireNonNull(node, "node");
    }
}
