package outbox.admin;

import org.jspecify.annotations.Nullable;
import outbox.model.OutboxEvent;
import outbox.util.JsonCodec;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * All data that the table stores about one event.
 *
 * @param event the row as a poller reads it, with payload and headers; not decoded, because an operator must also
 * see content that cannot be decoded
 * @param lastError the complete last error
 * @param history the last failed attempts and the success after them, oldest first; empty if the store keeps
 * no history
 */
public record EventDetails(
        EventSummary summary, OutboxEvent event, @Nullable String lastError, List<Attempt> history) {

    public EventDetails {
        Objects.requireNonNull(summary, "summary");
        Objects.requireNonNull(event, "event");
        history = List.copyOf(history);
    }

    /**
     * Returns the headers.
     *
     * @throws IllegalArgumentException if the column does not contain a JSON object of strings
     */
    public Map<String, String> headers() {
        return JsonCodec.parseObject(event.headersJson());
    }

    /** Describes the event without its payload, which may be confidential. */
    @Override
    public String toString() {
        return "EventDetails[" + summary + "]";
    }

    /**
     * One delivery attempt from the history of an event. The history contains the last failed attempts and the success
     * after them. It is empty for an event that succeeds at the first attempt.
     *
     * @param number the number of the attempt, counted from 1 and again from 1 after a replay; an attempt that was not
     * counted has the same number as the attempt after it
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
}
