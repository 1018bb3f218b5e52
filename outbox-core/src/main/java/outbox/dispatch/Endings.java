package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.dispatch.QueuedEvent.Source;
import outbox.internal.text.SafeLogger;
import outbox.model.EventStatus;
import outbox.spi.Mark;
import outbox.spi.MetricsExporter;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;

/**
 * The four ways in which a delivery ends. Each of them decides once and frees everything that this
 * dispatcher keeps for the delivery: its places in the queues and at gates, in the order of its aggregate
 * and in the in-flight tracker.
 *
 * <ul>
 *   <li>{@link #mark}: writes its outcome, DONE, RETRY or DEAD.
 *   <li>{@link #release}: ends its claim without an outcome, so that any node may claim the event.
 *   <li>{@link #lose}: the event no longer belongs to this dispatcher. Writes nothing.
 *   <li>{@link #expire}: the listener may still process the event here. Writes nothing, and the lease expires.
 * </ul>
 *
 * <p>Thread-safe.
 */
final class Endings implements OutcomeWriter.Listener, OrderGate.Outlet {

    private static final Logger LOG = SafeLogger.of(Endings.class);

    private final DispatcherParts parts;
    private final MarkTrouble markTrouble = new MarkTrouble();
    private volatile @Nullable String lastError; // error of the last failed attempt; the marker thread writes it

    /** @param parts must be complete before the first delivery */
    Endings(DispatcherParts parts) {
        this.parts = parts;
    }

    /**
     * Queues the outcome of a run for writing. No effect if the delivery has ended. The places of the delivery are
     * freed after the write.
     */
    void mark(Delivery delivery, Mark mark) {
        parts.marker.mark(delivery, mark);
    }

    /** Releases an event whose run ended without an outcome. No effect if the delivery has ended. */
    void release(Delivery delivery) {
        parts.admission.cancel(delivery);
        if (delivery.end()) {
            releaseEnded(delivery);
        }
    }

    /** Releases an event that has not started. Returns false if it has started or ended. */
    @Override
    public boolean releaseQueued(Delivery delivery) {
        boolean skipped = delivery.skip();
        if (skipped) {
            releaseEnded(delivery);
        }
        return skipped;
    }

    /** Like {@link #releaseQueued}, for an event that may not be delivered now. No poller is woken for it. */
    boolean withhold(Delivery delivery) {
        delivery.setWithheld();
        return releaseQueued(delivery);
    }

    /**
     * The marker gets a {@link Release} without payload instead of the delivery, because the payload is
     * no longer counted.
     */
    private void releaseEnded(Delivery delivery) {
        Release release = Release.of(delivery);
        free(delivery, release.token());
        parts.marker.release(release);
    }

    /**
     * Drops a started event that another node may have claimed.
     *
     * @param token the token under which the loss was detected
     */
    void lose(Delivery delivery, String token, String why) {
        delivery.end();
        loseEnded(delivery, token, why);
    }

    /** Drops an event that has not started. Returns false if it has started or ended. */
    @Override
    public boolean loseQueued(Delivery delivery, String why) {
        boolean skipped = delivery.skip();
        if (skipped) {
            loseEnded(delivery, delivery.token(), why);
        }
        return skipped;
    }

    private void loseEnded(Delivery delivery, String token, String why) {
        parts.metrics.incrementLostClaims();
        free(delivery, token);
        LOG.log(Level.DEBUG, () -> "Event " + delivery.eventId() + " is not delivered here: " + why);
    }

    /** A stage may ignore cancellation; keep the lease until it expires instead of releasing the event. */
    void expire(Delivery delivery) {
        parts.admission.cancel(delivery);
        if (delivery.end()) {
            LOG.log(
                    Level.INFO,
                    "The asynchronous listener of event " + delivery.eventId()
                            + " was cut short; the event will be delivered again after its lease");
            free(delivery, delivery.token());
        }
    }

    /**
     * Frees everything that is kept for a delivery that ended under the given token. The poller of this dispatcher
     * may have passed it a newer claim since then. That claim is released, so that the event does not wait until
     * its lease expires.
     */
    void free(Delivery delivery, String token) {
        parts.inFlight.remove(delivery);
        parts.queues.remove(delivery);
        parts.admission.remove(delivery);
        if (parts.order != null) {
            parts.order.remove(delivery);
        }
        if (!delivery.token().equals(token)) {
            parts.marker.release(Release.of(delivery.unstarted()));
        }
    }

    /**
     * Releases or cancels all deliveries because this node is not the leader. The next leader delivers the events.
     */
    void endLeadership() {
        for (Delivery delivery : parts.inFlight.all()) {
            if (!withhold(delivery) && delivery.state() == Delivery.State.RUNNING) {
                delivery.cancel(Delivery.Cancel.LEASE_LOST);
            }
        }
    }

    @Override
    public void ready(Delivery delivery) {
        parts.queues.ready(delivery);
    }

    @Override
    public void unreserve(Delivery delivery) {
        parts.queues.unreserve(delivery);
    }

    @Override
    public void markQueued(Delivery delivery, Mark mark) {
        if (delivery.start(null)) {
            mark(delivery, mark);
        }
    }

    @Override
    public void marked(Delivery delivery, Mark mark, OutcomeWriter.Written written) {
        markTrouble.end();
        if (parts.order != null) {
            parts.order.marked(delivery, mark, written == OutcomeWriter.Written.YES);
            wakeForSuccessors(delivery, mark);
        }
        free(delivery, mark.token());
        if (written == OutcomeWriter.Written.NO) {
            parts.metrics.incrementLostClaims();
            LOG.log(
                    Level.WARNING,
                    "The lease of event " + mark.eventId() + " was lost before its outcome " + mark.status()
                            + " could be written; the node that holds it now decides, so it may be delivered again");
            return;
        }
        recordRun(delivery, mark);
        if (!mark.error().isEmpty()) {
            lastError = mark.error();
        }
        report(delivery, mark);
    }

    private void report(Delivery delivery, Mark mark) {
        MetricsExporter metrics = parts.metrics;
        switch (mark.status()) {
            case DONE -> metrics.incrementDispatchSuccess();
            case RETRY -> {
                metrics.incrementDispatchFailure();
                parts.poller.wakeAfter(mark.retryAfter());
            }
            default -> {
                metrics.incrementDispatchDead();
                metrics.recordDead(delivery.envelope().eventType());
                int attempts = mark.countsAttempt() ? delivery.attempt() : delivery.attempts();
                LOG.log(Level.ERROR, delivery.envelope() + " is dead after " + attempts + " attempts: " + mark.error());
            }
        }
    }

    /** Does nothing for an event that is marked without a run, such as an expired event. */
    private void recordRun(Delivery delivery, Mark mark) {
        if (parts.metrics == MetricsExporter.NOOP) {
            return;
        }
        Delivery.Run run = delivery.run();
        if (run != null) {
            parts.metrics.recordDispatch(
                    delivery.envelope().eventType(), mark.status() == EventStatus.DONE, run.took());
        }
    }

    /**
     * If the event came from the table, the next event of its aggregate is in the table too. Wakes the
     * poller for it.
     */
    private void wakeForSuccessors(Delivery delivery, Mark mark) {
        if (delivery.source() == Source.COLD && delivery.number() > 0 && mark.status() != EventStatus.RETRY) {
            parts.poller.wake();
        }
    }

    @Override
    public void overtaken(Delivery delivery) {
        releaseEnded(delivery);
    }

    @Override
    public void released(Release release) {
        markTrouble.end();
        if (release.wakes()) {
            parts.poller.wake();
        }
    }

    @Override
    public void postponed(Delivery delivery) {
        parts.queues.endRun(delivery); // other events must not wait until its row can be written
    }

    @Override
    public void markFailed(Throwable why) {
        markTrouble.begin(why);
        parts.metrics.incrementMarkFailures();
    }

    MarkTrouble markTrouble() {
        return markTrouble;
    }

    @Nullable
    String lastError() {
        String markError = markTrouble.error();
        return markError != null ? markError : lastError;
    }
}
