package outbox;

import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/**
 * The result of one call of a {@link BatchEventListener}. All events were delivered, except those in
 * {@link #failures}. Immutable.
 */
public final class BatchOutcome {

    private static final BatchOutcome ALL_DELIVERED = new BatchOutcome(Map.of());

    private final Map<String, Exception> failures; // by event id

    private BatchOutcome(Map<String, Exception> failures) {
        this.failures = failures;
    }

    public static BatchOutcome allDelivered() {
        return ALL_DELIVERED;
    }

    /** Returns a copy in which this event failed. */
    public BatchOutcome withFailed(EventEnvelope event, Exception why) {
        Map<String, Exception> more = new HashMap<>(failures);
        more.put(event.eventId(), Objects.requireNonNull(why, "why"));
        return new BatchOutcome(Map.copyOf(more));
    }

    /** Returns a copy with this outcome for the event. */
    public BatchOutcome with(EventEnvelope event, DeliveryOutcome outcome) {
        Exception failure = outcome.failure();
        if (failure != null) {
            return withFailed(event, failure);
        }
        Map<String, Exception> fewer = new HashMap<>(failures);
        fewer.remove(event.eventId());
        return new BatchOutcome(Map.copyOf(fewer));
    }

    /** Returns the failures by event id. */
    public Map<String, Exception> failures() {
        return failures;
    }

    void throwIfFailed(EventEnvelope event) throws Exception {
        Exception failure = failures.get(event.eventId());
        if (failure != null) {
            throw failure;
        }
    }
}
