package outbox;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * A listener that receives several events in one call. It is registered like any {@link EventListener}. A call
 * contains the events that are waiting for this listener: at least one, and at most {@link #maxBatchSize}.
 *
 * <p>The outcome reports for each event whether it was delivered. A thrown exception is a failed attempt of every
 * event of the call. If events are ordered, a call never contains two events of the same aggregate. Interceptors run
 * for each event. If an interceptor rejects an event before the call, only that event is removed from the batch.
 */
@FunctionalInterface
public interface BatchEventListener extends EventListener {

    Outcome onEvents(List<EventEnvelope> events) throws Exception;

    /** The maximum number of events per call. Values below 1 are rejected. */
    default int maxBatchSize() {
        return 100;
    }

    /** Calls {@link #onEvents} with one event. */
    @Override
    @SuppressWarnings("FunctionalInterfaceMethodChanged") // the dispatcher never calls onEvent of this type
    default void onEvent(EventEnvelope event) throws Exception {
        onEvents(List.of(event)).throwIfFailed(event);
    }

    /**
     * The result of one call of a {@link BatchEventListener}. All events were delivered, except those in
     * {@link #failures}. Immutable.
     */
    final class Outcome {

        private static final Outcome ALL_DELIVERED = new Outcome(Map.of());

        private final Map<String, Exception> failures; // by event id

        private Outcome(Map<String, Exception> failures) {
            this.failures = failures;
        }

        public static Outcome allDelivered() {
            return ALL_DELIVERED;
        }

        /** Returns a copy in which this event failed. */
        public Outcome withFailed(EventEnvelope event, Exception why) {
            Map<String, Exception> more = new HashMap<>(failures);
            more.put(event.eventId(), Objects.requireNonNull(why, "why"));
            return new Outcome(Map.copyOf(more));
        }

        /** Returns a copy with this outcome for the event. */
        public Outcome with(EventEnvelope event, DeliveryOutcome outcome) {
            Exception failure = outcome.failure();
            if (failure != null) {
                return withFailed(event, failure);
            }
            Map<String, Exception> fewer = new HashMap<>(failures);
            fewer.remove(event.eventId());
            return new Outcome(Map.copyOf(fewer));
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
}
