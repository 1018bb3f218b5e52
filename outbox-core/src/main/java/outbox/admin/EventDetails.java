package outbox.admin;

import org.jspecify.annotations.Nullable;
import outbox.model.OutboxEvent;
import outbox.util.JsonCodec;

import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Everything that the table knows about one event.
 *
 * @param event the row as a poller reads it, with payload and headers; not decoded, since what cannot be decoded must be seen as well
 * @param lastError in full
 * @param history the last attempts that failed, and the success after them, the oldest first; empty where the store keeps none
 */
public record EventDetails(
        EventSummary summary, OutboxEvent event, @Nullable String lastError, List<Attempt> history) {

    public EventDetails {
        Objects.requireNonNull(summary, "summary");
        Objects.requireNonNull(event, "event");
        history = List.copyOf(history);
    }

    /**
     * The headers.
     *
     * @throws IllegalArgumentException if the column does not hold a JSON object of strings
     */
    public Map<String, String> headers() {
        return JsonCodec.parseObject(event.headersJson());
    }

    /** Names the event without its payload, which may be confidential. */
    @Override
    public String toString() {
        return "EventDetails[" + summary + "]";
    }
}
