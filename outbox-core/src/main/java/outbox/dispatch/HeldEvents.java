package outbox.dispatch;

import outbox.internal.QuietLog;
import outbox.spi.Claim;
import outbox.spi.MetricsExporter;
import outbox.spi.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Collection;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/** Every event this dispatcher has accepted and not finished, by id: what a poller reads again meanwhile is recognised here. */
final class HeldEvents {

    private static final Logger LOG = SafeLogger.of(HeldEvents.class);

    private final ConcurrentHashMap<String, Delivery> byId = new ConcurrentHashMap<>();
    private final InFlightTracker inFlight;
    private final MetricsExporter metrics;
    private final QuietLog trouble = new QuietLog(LOG);
    private final Consumer<Release> releases;
    private final Consumer<Delivery> gone;

    HeldEvents(InFlightTracker inFlight, MetricsExporter metrics, Consumer<Release> releases, Consumer<Delivery> gone) {
        this.inFlight = inFlight;
        this.metrics = metrics;
        this.releases = releases;
        this.gone = gone;
    }

    /** Holds the delivery, and answers true; or hands its claim, if it has one, to the delivery that already holds this event. */
    boolean hold(Delivery delivery) {
        Claim claim = delivery.claim();
        Delivery holder = byId.compute(delivery.eventId(), (id, other) -> {
            if (other == null || other.state() == Delivery.State.GIVEN_UP) { // which is about to go anyway
                return delivery;
            }
            // Our own poller claimed it anew, because it had no claim or its lease had run out. The claim that a hot
            // event was born with is never the newer one.
            if (claim != null && (delivery.source() == QueuedEvent.Source.COLD || other.claim() == null)) {
                other.adopt(claim);
            }
            return other;
        });
        return holder == delivery;
    }

    /** Registers the run with the tracker; false, with the delivery dropped, if the tracker knows another run of this event. */
    boolean enterFlight(Delivery delivery) {
        if (!inFlight.tryAcquire(delivery.eventId())) {
            if (delivery.settle()) { // its claim, if it has one, must not keep the event from a later try
                release(delivery);
            }
            return false;
        }
        delivery.setInFlight(true);
        return true;
    }

    /** Whether the run is longer in flight than the tracker allows. */
    boolean hasExpired(Delivery delivery) {
        try {
            return delivery.isInFlight() && inFlight.hasExpired(delivery.eventId());
        } catch (RuntimeException | Error e) { // of a tracker of the user's: it must not stop the keeper
            trouble.log(Level.ERROR, "The in-flight tracker failed for event " + delivery.eventId(), e);
            return false;
        }
    }

    /** The tracker forgets the run, which is over or was put off. */
    void leaveFlight(Delivery delivery) {
        try {
            if (delivery.isInFlight()) {
                delivery.setInFlight(false);
                inFlight.release(delivery.eventId());
            }
        } catch (RuntimeException | Error e) { // of a tracker of the user's: it must not stop the writing of outcomes
            trouble.log(Level.ERROR, "The in-flight tracker failed to release event " + delivery.eventId(), e);
        }
    }

    /**
     * Ends the hold of a delivery and releases its event. The delivery itself does not wait for the marker, because its
     * payload is no longer counted.
     */
    void release(Delivery delivery) {
        Release release = Release.of(delivery);
        letGo(delivery, release.token());
        releases.accept(release);
    }

    /**
     * Ends the hold of a delivery whose end was decided under the given token. Our own poller may have handed it a
     * newer claim since then, which nobody would use: that claim is released, so that the event need not wait for its
     * lease to end. The tracker comes first: the next holder of the event must find it free.
     */
    void letGo(Delivery delivery, String token) {
        leaveFlight(delivery);
        byId.remove(delivery.eventId(), delivery); // from here on it is handed no more claims
        gone.accept(delivery);
        if (!delivery.token().equals(token)) {
            releases.accept(Release.of(delivery.unstarted()));
        }
    }

    /** The event turned out not to be ours: it is dropped, whoever has it goes on. */
    void lost(Delivery delivery, String token, String why) {
        metrics.incrementLostClaims();
        letGo(delivery, token);
        LOG.log(Level.DEBUG, () -> "Event " + delivery.eventId() + " is not delivered here: " + why);
    }

    Collection<Delivery> all() {
        return byId.values();
    }
}
