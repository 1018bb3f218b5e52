package outbox.poller;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.spi.PollerNeeds;

/**
 * Receives the events that a poller found. Called on the thread that runs the poll cycle.
 *
 * <p>A handler in front of a {@code DispatcherPollerHandler} needs only {@link #handle}. The envelope carries its
 * claim, and the poller learns the needs of the dispatcher from the first event. A handler that also returns the
 * {@link #needs} of the next handler makes them known before the first event. Always pass on the same envelope
 * object. A new envelope has no claim, and the dispatcher ignores such an event until its lease has expired.
 */
@FunctionalInterface
public interface OutboxPollerHandler {

    /**
     * Accepts one event. Returns false if there is no room; this ends the current cycle and leaves the event
     * in the table.
     *
     * <p>The handler may pass the event to a dispatcher later, on another thread. Until then, the lease
     * is not renewed.
     */
    boolean handle(EventEnvelope event, int attempts);

    /**
     * Returns whether there is room for at least one event. The poller calls this before each claim, and skips the
     * claim if it returns false.
     */
    default boolean hasCapacity() {
        return true;
    }

    /**
     * Returns what the receiver of the events needs from the poller. Called once. Null, the default, means that this
     * is not known yet.
     */
    default @Nullable PollerNeeds needs() {
        return null;
    }
}
