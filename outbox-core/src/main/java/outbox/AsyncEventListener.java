package outbox;

import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;

/**
 * A listener that starts its work and tells later how it ended, so that a few workers keep many events in flight. Registered like any {@link EventListener}.
 *
 * <p>The event is delivered when the stage completes normally, unless with a {@link DeliveryOutcome} that says otherwise; a stage that completes exceptionally, an exception or null instead of a stage is a failed attempt. When the time limit
 * is over, the lease lost or the dispatcher closing, the stage is cancelled and whatever it says later has no effect. Interceptors run before the call on the worker's thread, and
 * afterwards on the thread that completes the stage, which they should not hold up.
 */
@FunctionalInterface
public interface AsyncEventListener extends EventListener {

    CompletionStage<?> onEventAsync(EventEnvelope event) throws Exception;

    /** How many events this listener may have in flight at a time on one dispatcher; at least 1, anything less is refused. Others wait without holding a worker. */
    default int maxInFlight() {
        return 256;
    }

    /**
     * Called when the dispatcher closes, or has lost the lease, before the stage has ended. Returns whether this run of
     * the event has had no effect and, after this call, never will: then the event is released at once. False, the
     * default, is always safe: the event is delivered again after the end of its lease.
     */
    default boolean withdraw(EventEnvelope event) {
        return false;
    }

    /** Waits for the stage. The dispatcher does not call this; it is for code that knows plain listeners only. */
    @Override
    @SuppressWarnings("FunctionalInterfaceMethodChanged") // the dispatcher never calls it by the superinterface
    default void onEvent(EventEnvelope event) throws Exception {
        Object result = onEventAsync(event).toCompletableFuture().get(1, TimeUnit.HOURS);
        if (result instanceof DeliveryOutcome outcome && outcome.failure() != null) {
            throw outcome.failure();
        }
    }
}
