package outbox.dispatch;

import outbox.internal.ThrottledLog;
import outbox.internal.text.SafeLogger;
import outbox.spi.Claim;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Collection;
import java.util.concurrent.ConcurrentHashMap;

/**
 * All events that this dispatcher has accepted and that have not ended, by id. If a poller reads such an event
 * again, it is recognised here.
 */
final class InFlightDeliveries {

    private static final Logger LOG = SafeLogger.of(InFlightDeliveries.class);

    private final ConcurrentHashMap<String, Delivery> byId = new ConcurrentHashMap<>();
    private final InFlightTracker tracker;
    private final ThrottledLog trouble = new ThrottledLog(LOG);

    InFlightDeliveries(InFlightTracker tracker) {
        this.tracker = tracker;
    }

    /**
     * Adds the delivery and returns true. If another delivery holds this event already, passes the claim, if any, to
     * that delivery and returns false.
     */
    boolean add(Delivery delivery) {
        Claim claim = delivery.claim();
        Delivery present = byId.compute(delivery.eventId(), (id, other) -> {
            if (other == null || other.state() == Delivery.State.SKIPPED) { // it is about to be removed
                return delivery;
            }
            // The poller of this dispatcher has claimed the event again, because the event had no claim or its lease
            // had expired. The claim with which a hot event was inserted is never the newer one.
            if (claim != null && (delivery.source() == QueuedEvent.Source.COLD || other.claim() == null)) {
                other.adopt(claim);
            }
            return other;
        });
        return present == delivery;
    }

    /**
     * Removes the delivery. After that it gets no more claims. The tracker is released first, because the next
     * delivery of the event must be able to acquire it.
     */
    void remove(Delivery delivery) {
        untrack(delivery);
        byId.remove(delivery.eventId(), delivery);
    }

    /** Registers the run with the tracker. Returns false if the tracker knows another run of this event. */
    boolean track(Delivery delivery) {
        boolean tracked = tracker.tryAcquire(delivery.eventId());
        delivery.setInFlight(tracked);
        return tracked;
    }

    /** Whether the run has been in flight longer than the tracker allows. */
    boolean hasExpired(Delivery delivery) {
        try {
            return delivery.isInFlight() && tracker.hasExpired(delivery.eventId());
        } catch (RuntimeException | Error e) { // from a custom tracker; it must not stop the keeper
            trouble.log(Level.ERROR, "The in-flight tracker failed for event " + delivery.eventId(), e);
            return false;
        }
    }

    /** Unregisters a run that has ended or was postponed. */
    void untrack(Delivery delivery) {
        try {
            if (delivery.isInFlight()) {
                delivery.setInFlight(false);
                tracker.release(delivery.eventId());
            }
        } catch (RuntimeException | Error e) { // from a custom tracker; outcomes must still be written
            trouble.log(Level.ERROR, "The in-flight tracker failed to release event " + delivery.eventId(), e);
        }
    }

    Collection<Delivery> all() {
        return byId.values();
    }
}
