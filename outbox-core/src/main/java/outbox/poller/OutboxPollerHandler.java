package outbox.poller;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.order.Ordering;
import outbox.spi.Leadership;
import outbox.spi.Withheld;

import java.time.Duration;

/** Takes the events that a poller found. Called on the poller's thread. */
@FunctionalInterface
public interface OutboxPollerHandler {

    /**
     * Takes one event; false, for lack of room, ends the current cycle and leaves the event where it is.
     *
     * <p>The claim of the event goes with it to the dispatcher that gets the event in the end, on this thread or on another one. Between the two, nobody renews the lease.
     */
    boolean handle(EventEnvelope event, int attempts);

    /** Whether there is room for any event; asked before each cycle, which is skipped if not. */
    default boolean hasCapacity() {
        return true;
    }

    /** How many events the poller may bring now; it claims no more. A handler may answer 0 until it has room for many, and wake the poller then. */
    default int room() {
        return hasCapacity() ? Integer.MAX_VALUE : 0;
    }

    /** How many bytes of payload can be taken now: the poller claims about as much, going by the size of recent events. */
    default long byteRoom() {
        return Long.MAX_VALUE;
    }

    /**
     * How many suspects, that is events whose lease ran out, the poller may bring now. It claims none while there is no room for one. A handler may return 0 until it has room
     * for many, and wake the poller then.
     */
    default int suspectRoom() {
        return Integer.MAX_VALUE;
    }

    /** Which events must be delivered in order: the poller leaves alone what cannot be started yet. */
    default Ordering ordering() {
        return Ordering.off();
    }

    /** Which events must not be brought now; asked before each claim. A store that is no {@link outbox.spi.WithholdingEventStore} brings them all the same. */
    default Withheld withheld() {
        return Withheld.NOTHING;
    }

    /** How long an event that {@link #withheld} does not know may be due before it is dead; null, the default, for ever. */
    default @Nullable Duration untakenLimit() {
        return null;
    }

    /** Which node may claim at all: the poller looks at the table only while it leads. Null, the default, for all nodes at a time. Asked once, when the poller is built. */
    default @Nullable Leadership leadership() {
        return null;
    }

    /** The given poller will deliver to this handler. Called once, when it is built. */
    default void attached(OutboxPoller poller) {}
}
