package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.dispatch.QueuedEvent.Source;
import outbox.internal.HandOver;
import outbox.order.Ordering;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest.Withheld;
import outbox.spi.Leadership;
import outbox.spi.MetricsExporter;
import outbox.spi.PollerNeeds;

import java.time.Duration;
import java.time.Instant;

/** Decides which events a dispatcher accepts, and tells writers and pollers how many. Never blocks. Thread-safe. */
final class Intake implements PollerNeeds {

    private final DispatcherParts parts;
    private final @Nullable KnownRoutes known; // null if events without a listener are accepted too
    private volatile boolean closed;
    private volatile boolean refused; // a poller found that nothing is accepted; pollers and the keeper write it

    Intake(DispatcherParts parts, @Nullable KnownRoutes known) {
        this.parts = parts;
        this.known = known;
    }

    /** Accepts no more events. */
    void close() {
        closed = true;
    }

    boolean enqueueHot(QueuedEvent event, @Nullable Claim claim) {
        boolean accepted = accept(new Delivery(event, claim, false));
        if (accepted) {
            parts.metrics.incrementHotEnqueued();
            recordDepths();
        }
        return accepted;
    }

    boolean enqueueCold(QueuedEvent event) {
        HandOver handOver = HandOver.of(event.envelope());
        if (handOver != null) {
            return enqueueCold(event, handOver);
        }
        boolean accepted = accept(new Delivery(event, null, false));
        if (accepted) {
            parts.metrics.incrementColdEnqueued();
            recordDepths();
        }
        return accepted;
    }

    private boolean enqueueCold(QueuedEvent event, HandOver handOver) {
        handOver.attach(this);
        limitLease(handOver.lockTimeout());
        Claim claim = handOver.take();
        boolean accepted = accept(new Delivery(event, claim, handOver.suspect()));
        if (accepted) {
            handOver.count(parts.metrics);
            recordDepths();
        } else {
            handOver.putBack(claim);
        }
        return accepted;
    }

    /** Releases an event that was inserted with a lease but not accepted. No I/O on the calling thread. */
    void release(QueuedEvent event, @Nullable Claim claim) {
        if (claim != null) {
            parts.marker.release(Release.of(new Delivery(event, claim, false)));
        }
    }

    private boolean accept(Delivery delivery) {
        if (closed || parts.marker.isBehind()) {
            return false;
        }
        delivery.setTerm(parts.term.number());
        if (!isKnown(delivery) || !parts.term.isLeader() || !parts.admission.expects(delivery)) {
            delivery.setWithheld();
            if (delivery.claim() != null) {
                parts.marker.release(Release.of(delivery));
            }
            return true; // the event waits in the table
        }
        String token = delivery.token();
        if (!parts.inFlight.add(delivery)) { // the claim, if any, is in use now; a poller must not release it
            parts.admission.remove(delivery);
            return delivery.claim() != null || parts.queues.room(delivery.source()) > 0;
        }
        if (delivery.isSuspect()) {
            delivery.setRunsAlone(parts.policy.mustRunAlone(delivery));
        }
        if (!queue(delivery)) {
            if (parts.queues.hasOwnRoom(delivery) && parts.endings.withhold(delivery)) {
                return true; // there may be room for other events
            }
            parts.endings.free(delivery, token); // the caller keeps its claim
            return false;
        }
        if (closed) { // closed in the meantime; the drain may have missed this delivery
            parts.endings.releaseQueued(delivery);
        }
        return true;
    }

    private boolean isKnown(Delivery delivery) {
        return known == null || parts.routeOf(delivery).isKnown();
    }

    private boolean queue(Delivery delivery) {
        OrderGate order = parts.order;
        if (order == null || !order.appliesTo(delivery)) {
            return parts.queues.offer(delivery);
        }
        boolean room = parts.queues.reserve(delivery);
        if (room) {
            order.add(delivery);
        }
        return room;
    }

    boolean hasColdQueueCapacity() {
        return isAccepting() && parts.queues.room(Source.COLD) > 0;
    }

    private boolean isAccepting() {
        boolean accepting = !closed
                && !parts.marker.isBehind()
                && parts.keeper.isHealthy()
                && !parts.admission.isEverythingPaused();
        refused |= !accepting;
        return accepting;
    }

    /** Wakes the poller if it found that nothing was accepted and events are accepted again. */
    void wakeIfAcceptingAgain() {
        if (refused && isAccepting()) {
            refused = false;
            parts.poller.wake();
        }
    }

    /**
     * Returns the claim for events that are about to be written and then passed to the hot queue. Returns null if
     * not all of them would be accepted now; then any node may claim them. Other open transactions are not counted:
     * an event that finds no room after its commit is released.
     */
    @Nullable
    Claim birthClaim(int events, long bytes) {
        return closed
                        || !parts.term.isLeader()
                        || parts.marker.isBehind()
                        || parts.admission.isEverythingPaused()
                        || !parts.queues.hasHotRoom(events, bytes)
                ? null
                : parts.store.birthClaim();
    }

    /**
     * Whether the attached poller claims the events that were inserted without a lease. Otherwise they are claimed
     * one by one.
     */
    boolean leavesFreeEvents() {
        return parts.poller.isPresent() && parts.store.knowsClaims();
    }

    /**
     * Called when events were committed without a lease. Returns false if this node may not deliver them now; then
     * they were not dropped because of a full queue.
     */
    boolean wakePoller() {
        if (!parts.term.isLeader() || parts.admission.isEverythingPaused()) {
            return false;
        }
        if (room() > 0) { // otherwise the poller is woken when there is room
            parts.poller.wake();
        }
        return true;
    }

    /** Called when an event was committed that becomes due at the given time. */
    void scheduled(Instant availableAt) {
        parts.poller.wakeAt(availableAt);
    }

    void recordDepths() {
        if (parts.metrics != MetricsExporter.NOOP) {
            parts.metrics.recordQueueDepths(parts.queues.depth(Source.HOT), parts.queues.depth(Source.COLD));
        }
    }

    /** Returns 0 while leases cannot be renewed or while the queue is more than half full. */
    @Override
    public int room() {
        return isAccepting() ? Math.min(parts.queues.muchColdRoom(), parts.admission.claimRoom()) : 0;
    }

    @Override
    public long byteRoom() {
        return parts.queues.byteRoom();
    }

    @Override
    public int suspectRoom() {
        return parts.queues.muchSuspectRoom();
    }

    @Override
    public Ordering ordering() {
        return parts.ordering;
    }

    @Override
    public Withheld withheld() {
        Withheld withheld = parts.admission.withheld();
        return known == null ? withheld : withheld.butKnown(known.routes());
    }

    @Override
    public @Nullable Duration untakenLimit() {
        return known == null ? null : known.untakenLimit();
    }

    @Override
    public @Nullable Leadership leadership() {
        return parts.term.isUsed() ? parts.term : null;
    }

    /** Shortens leases to the lock timeout of the poller, because pollers treat a longer lease as expired. */
    @Override
    public void attached(Poller attached) {
        limitLease(attached.lockTimeout());
        parts.keeper.wake(); // renew longer claims now
        parts.poller.set(attached);
    }

    private void limitLease(@Nullable Duration lockTimeout) {
        if (lockTimeout != null) {
            parts.store.limitLease(lockTimeout);
        }
    }
}
