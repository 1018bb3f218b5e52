package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.internal.QuietLog;
import outbox.spi.MetricsExporter;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Collection;
import java.util.concurrent.ConcurrentHashMap;

/** Every event this dispatcher has accepted and not finished, by id: what a poller reads again meanwhile is recognised here. */
final class HeldEvents {

    private static final Logger LOG = System.getLogger(HeldEvents.class.getName());

    private final ConcurrentHashMap<String, Delivery> byId = new ConcurrentHashMap<>();
    private final InFlightTracker inFlight;
    private final MetricsExporter metrics;
    private final QuietLog trouble = new QuietLog(LOG);

    HeldEvents(InFlightTracker inFlight, MetricsExporter metrics) {
        this.inFlight = inFlight;
        this.metrics = metrics;
    }

    /** Holds the delivery; answers the one that already holds this event, or null. */
    @Nullable
    Delivery hold(Delivery delivery) {
        while (true) {
            Delivery other = byId.putIfAbsent(delivery.eventId(), delivery);
            if (other == null || other.state() != Delivery.State.GIVEN_UP) {
                return other;
            }
            letGo(other); // it is about to go anyway
        }
    }

    /** Registers the run with the tracker; false, with the delivery dropped, if the tracker knows another run of this event. */
    boolean enterFlight(Delivery delivery) {
        if (!inFlight.tryAcquire(delivery.eventId())) {
            letGo(delivery);
            return false;
        }
        delivery.setInFlight();
        return true;
    }

    /** First the tracker, then this: whoever may hold the event anew must find the tracker free, or it would drop an event that it has claimed. */
    void letGo(Delivery delivery) {
        try {
            if (delivery.isInFlight()) {
                inFlight.release(delivery.eventId());
            }
        } catch (RuntimeException | Error e) { // of a tracker of the user's: it must not stop the writing of outcomes
            trouble.log(Level.ERROR, "The in-flight tracker failed to release event " + delivery.eventId(), e);
        } finally {
            byId.remove(delivery.eventId(), delivery);
        }
    }

    /** The event turned out not to be ours: it is dropped, whoever has it goes on. */
    void lost(Delivery delivery, String why) {
        LOG.log(Level.DEBUG, () -> "Event " + delivery.eventId() + " is not delivered here: " + why);
        metrics.incrementLostClaims();
        letGo(delivery);
    }

    Collection<Delivery> all() {
        return byId.values();
    }
}
