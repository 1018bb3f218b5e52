package outbox;

import java.util.List;

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

    BatchOutcome onEvents(List<EventEnvelope> events) throws Exception;

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
}
