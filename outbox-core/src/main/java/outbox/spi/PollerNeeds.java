package outbox.spi;

import org.jspecify.annotations.Nullable;
import outbox.order.Ordering;
import outbox.spi.ClaimRequest.Withheld;

import java.time.Duration;
import java.time.Instant;

/**
 * The requirements that the receiver of polled events, usually a dispatcher, has for its poller. By default there
 * are none.
 */
public interface PollerNeeds {

    /**
     * The number of events that the poller may hand over now. A receiver may return 0 until it has room for many
     * events and then wake the poller.
     */
    default int room() {
        return Integer.MAX_VALUE;
    }

    /**
     * The number of payload bytes that the receiver can take now. The poller estimates event sizes from
     * recent events.
     */
    default long byteRoom() {
        return Long.MAX_VALUE;
    }

    /** Like {@link #room}, for suspects: events whose lease expired. If this is 0, the poller claims no suspects. */
    default int suspectRoom() {
        return Integer.MAX_VALUE;
    }

    /** The rules for ordered delivery. The poller does not claim an event that cannot start yet. */
    default Ordering ordering() {
        return Ordering.off();
    }

    /**
     * The events that must not be handed over now. Called before each claim. A store that cannot
     * {@linkplain LeasingEventStore#canWithhold withhold} events claims them too.
     */
    default Withheld withheld() {
        return Withheld.NOTHING;
    }

    /**
     * How long an event of a type that {@link #withheld} does not list as known may be due before it becomes dead;
     * null for no limit.
     */
    default @Nullable Duration untakenLimit() {
        return null;
    }

    /**
     * Decides which node may claim. The poller reads the table only while its node leads; null if all nodes
     * may claim.
     */
    default @Nullable Leadership leadership() {
        return null;
    }

    /** Called once by the poller that follows these needs, before its first cycle. */
    default void attached(Poller poller) {}

    /** The operations of the poller that are available to the receiver of its events. */
    interface Poller {

        /** The duration of a claim; null for a poller without claims. */
        @Nullable
        Duration lockTimeout();

        /** Starts the next cycle immediately. */
        void wake();

        /** Starts a cycle at the given time of the database clock, unless one starts earlier. */
        void wakeAt(Instant time);

        /** Starts a cycle after the given time, unless one starts earlier. */
        void wakeAfter(Duration time);
    }
}
