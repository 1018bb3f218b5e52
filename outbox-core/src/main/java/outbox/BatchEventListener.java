package outbox;

import java.util.List;

/**
 * A listener that receives several events in one call. Registered like any {@link EventListener}; it gets what is waiting for it at the moment, at least one event and at most
 * {@link #maxBatchSize}.
 *
 * <p>The outcome says of each event whether it was delivered; what is thrown is a failed attempt of every event of the call. Where events are ordered, a call never holds two of the
 * same aggregate. Interceptors run for each event; one that refuses an event before the call takes only that one out of it.
 */
@FunctionalInterface
public interface BatchEventListener extends EventListener {

    BatchOutcome onEvents(List<EventEnvelope> events) throws Exception;

    /** How many events a call may hold; at least 1, anything less is refused. */
    default int maxBatchSize() {
        return 100;
    }

    /** A call with one event. */
    @Override
    @SuppressWarnings("FunctionalInterfaceMethodChanged") // the dispatcher never calls it by the superinterface
    default void onEvent(EventEnvelope event) throws Exception {
        onEvents(List.of(event)).throwIfFailed(event);
    }
}
