package outbox.dispatch;

import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;

/** One run of an event on a worker thread: claim it if needed, run its listener, decide the outcome and hand it to the marker. */
final class EventRun implements Worker.Deliverer {

    private static final Logger LOG = System.getLogger(EventRun.class.getName());

    private final ClaimedStore store;
    private final DeliveryChain chain;
    private final OutcomePolicy policy;
    private final HeldEvents held;
    private final Marker marker;

    EventRun(ClaimedStore store, DeliveryChain chain, OutcomePolicy policy, HeldEvents held, Marker marker) {
        this.store = store;
        this.chain = chain;
        this.policy = policy;
        this.held = held;
        this.marker = marker;
    }

    @Override
    public void deliver(Delivery delivery) {
        try {
            if (held.enterFlight(delivery)) { // else another run of this event is in progress
                runClaimed(delivery);
            }
        } catch (RuntimeException | Error e) { // of the tracker or the store: other user code is contained by the chain
            LOG.log(
                    Level.ERROR,
                    "Cannot start event " + delivery.eventId() + "; it is given back, no attempt is lost",
                    e);
            giveBack(delivery);
        }
    }

    private void runClaimed(Delivery delivery) {
        String token = delivery.token();
        if (!store.ensureClaim(delivery)) {
            held.lost(delivery, token, "it is finished, held by another node, or has no row");
            return;
        }
        if (delivery.isSuspect()) {
            if (policy.isExhausted(delivery)) {
                marker.settle(delivery, policy.exhausted(delivery));
                return;
            }
            String claimed = delivery.token();
            if (!store.recordRun(delivery)) {
                held.lost(delivery, claimed, "its lease ran out");
                return;
            }
        }
        if (!delivery.enterListener()) {
            giveBack(delivery);
            return;
        }
        @Nullable Throwable failure;
        try {
            failure = chain.run(delivery.envelope());
        } finally {
            delivery.leaveListener();
        }
        if (failure != null && delivery.isCutShort()) {
            giveBack(delivery); // not by a fault of its own, so it costs no attempt
        } else {
            marker.settle(delivery, policy.outcome(delivery, failure));
        }
    }

    private void giveBack(Delivery delivery) {
        if (delivery.settle()) {
            marker.release(delivery);
        }
    }
}
