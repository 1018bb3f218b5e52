package outbox;

import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/** What became of the events of one call of a {@link BatchEventListener}: all were delivered, apart from those that are named. Immutable. */
public final class BatchOutcome {

    private static final BatchOutcome ALL_DELIVERED = new BatchOutcome(Map.of());

    private final Map<String, Exception> failures; // by event id

    private BatchOutcome(Map<String, Exception> failures) {
        this.failures = failures;
    }

    public static BatchOutcome allDelivered() {
        return ALL_DELIVERED;
    }

    /** The same, but this event failed. */
    public BatchOutcome withFailed(EventEnvelope event, Exception why) {
        Map<String, Exception> more = new HashMap<>(failures);
        more.put(event.eventId(), Objects.requireNonNull(why, "why"));
        return new BatchOutcome(Map.copyOf(more));
    }

    /** The same, but this became of the event. */
    public BatchOutcome with(EventEnvelope event, DeliveryOutcome outcome) {
        Exception failure = outcome.failure();
        if (failure != null) {
            return withFailed(event, failure);
        }
        Map<String, Exception> fewer = new HashMap<>(failures);
        fewer.remove(event.eventId());
        return new BatchOutcome(Map.copyOf(fewer));
    }

    /** Why events failed, by event id. */
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
