package outbox.poller;

import outbox.EventEnvelope;
import outbox.order.Ordering;

/** Takes the events that a poller found. Called on the poller's thread. */
@FunctionalInterface
public interface OutboxPollerHandler {

    /**
     * Takes one event; false, for lack of room, ends the current cycle and leaves the event where it is.
     *
     * <p>The claim of the event travels with it on the poller's thread. A handler that hands events to a dispatcher from another thread loses the claim: the dispatcher does not
     * deliver the event, and the same happens after each lease. Where every node does so, it is never delivered: hand over on the poller's thread.
     */
    boolean handle(EventEnvelope event, int attempts);

    /** Whether there is room for any event; asked before each cycle, which is skipped if not. */
    default boolean hasCapacity() {
        return true;
    }

    /** How many events can be taken now: the poller claims no more. */
    default int room() {
        return hasCapacity() ? Integer.MAX_VALUE : 0;
    }

    /** How many bytes of payload can be taken now: the poller claims about as much, going by the size of recent events. */
    default long byteRoom() {
        return Long.MAX_VALUE;
    }

    /** Which events must be delivered in order: the poller leaves alone what cannot be started yet. */
    default Ordering ordering() {
        return Ordering.off();
    }

    /** The given poller will deliver to this handler. Called once, when it is built. */
    default void attached(OutboxPoller poller) {}
}
