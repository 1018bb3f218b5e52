package outbox;

import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;

/**
 * A listener that starts its work and reports the result later, so that a few workers can keep many events in
 * flight. It is registered like any {@link EventListener}.
 *
 * <p>The event is delivered when the stage completes normally, unless the result is a {@link DeliveryOutcome} that
 * reports a failure. A stage that completes exceptionally, a thrown exception, or null instead of a stage is a
 * failed attempt. The stage is cancelled when the time limit is exceeded, when the lease is lost, or when the
 * dispatcher closes; its later result is ignored. Interceptors run before the call on the worker thread, and after
 * the call on the thread that completes the stage. They should not block that thread.
 */
@FunctionalInterface
public interface AsyncEventListener extends EventListener {

    CompletionStage<?> onEventAsync(EventEnvelope event) throws Exception;

    /**
     * The maximum number of events that this listener may have in flight on one dispatcher. Values below 1 are
     * rejected. Further events wait without occupying a worker.
     */
    default int maxInFlight() {
        return 256;
    }

    /**
     * Called when the dispatcher closes or has lost the lease before the stage has completed. Return true only if
     * this delivery has had no effect and will have none after this call; the event is then released immediately.
     * False, the default, is always safe: the event is delivered again after its lease expires.
     */
    default boolean withdraw(EventEnvelope event) {
        return false;
    }

    /**
     * Waits for the stage. The dispatcher does not call this method; it is for code that supports plain
     * listeners only.
     */
    @Override
    @SuppressWarnings("FunctionalInterfaceMethodChanged") // the dispatcher never calls onEvent of this type
    default void onEvent(EventEnvelope event) throws Exception {
        Object result = onEventAsync(event).toCompletableFuture().get(1, TimeUnit.HOURS);
        if (result instanceof DeliveryOutcome outcome && outcome.failure() != null) {
            throw outcome.failure();
        }
    }
}
