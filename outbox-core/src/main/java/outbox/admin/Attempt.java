package outbox.admin;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.time.Instant;
import java.util.Objects;

/**
 * One run of a listener, from the history of an event. The history has the last runs that failed, and the success after them; an event that succeeds at once has none.
 *
 * @param number which attempt of the event it was, counted from 1 and anew after a replay; one that was not counted has the number of the next
 * @param startedAt by the database's clock
 * @param took how long the listener ran, in milliseconds
 * @param node which node ran it
 * @param error why it failed; null for a success
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
