package outbox.dispatch;

import outbox.internal.text.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;

/**
 * Closes a dispatcher: lets workers drain the queues, interrupts listeners that still run, releases all unfinished
 * events, and waits for a limited time until all outcomes are written. Used by one thread.
 */
final class Shutdown {

    private static final Logger LOG = SafeLogger.of(Shutdown.class);
    private static final Duration STOP_GRACE = Duration.ofSeconds(1);
    private static final Duration MARK_GRACE = Duration.ofSeconds(5);

    private final DispatcherParts parts;
    private final Duration drainTimeout;
    private final boolean drainQueues;
    private boolean interrupted; // whether the closing thread was interrupted while it waited

    Shutdown(DispatcherParts parts, Duration drainTimeout, boolean drainQueues) {
        this.parts = parts;
        this.drainTimeout = drainTimeout;
        this.drainQueues = drainQueues;
    }

    void run() {
        try {
            if (parts.order != null) {
                parts.order.close(); // releases events that wait for their turn
            }
            parts.admission.close(); // releases events that wait for a destination
            if (!drainQueues) {
                parts.pool.stop(); // running events may end, but no other event starts
                releaseWaiting();
            }
            boolean drained = waitFor(() -> (!drainQueues || parts.pool.liveWorkers() > 0) && drain());
            releaseWaiting();
            boolean stopped = waitFor(() -> stop(drained ? Duration.ZERO : STOP_GRACE));
            releaseWaiting(); // events that were suspended or resumed in the meantime
            if (!stopped) {
                LOG.log(
                        Level.WARNING,
                        "Listeners still run after the drain time of " + drainTimeout
                                + " and an interrupt; their events will be delivered again after their lease");
            }
            OrderGate order = parts.order;
            if (order != null) {
                waitFor(() -> order.awaitEnd(STOP_GRACE)); // it may still release the events of its current query
            }
            if (!waitFor(() -> parts.marker.close(MARK_GRACE))) {
                LOG.log(
                        Level.WARNING,
                        "Not all outcomes were written within " + MARK_GRACE
                                + "; their events will be delivered again after their lease");
            }
        } finally {
            parts.pool.endThreads();
            parts.keeper.stop(); // stops last, because it renews the leases until here
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void releaseWaiting() {
        List<Delivery> suspended = parts.asyncRuns.drain(); // first, so that they get no place that is freed below
        List<Delivery> queued = parts.queues.drain();
        queued.forEach(parts.asyncRuns::cancel);
        queued.forEach(parts.admission::cancel);
        suspended.forEach(parts.admission::cancel);
        queued.forEach(parts.endings::releaseQueued);
        suspended.forEach(parts.endings::releaseQueued);
    }

    private boolean drain() throws InterruptedException {
        long end = System.nanoTime() + drainTimeout.toNanos();
        return parts.pool.drain(drainTimeout) && parts.asyncRuns.awaitNone(Duration.ofNanos(end - System.nanoTime()));
    }

    private boolean stop(Duration patience) throws InterruptedException {
        parts.pool.stop();
        parts.inFlight.all().stream()
                .filter(delivery -> delivery.state() == Delivery.State.RUNNING)
                .forEach(delivery -> delivery.cancel(Delivery.Cancel.CLOSE));
        boolean workersEnded = parts.pool.awaitEnd(patience);
        return parts.asyncRuns.awaitNone(patience) && workersEnded;
    }

    /** A step of the close that may block. */
    private interface Waiting {
        boolean untilDone() throws InterruptedException;
    }

    /**
     * Runs a step. An interrupt of the closing thread shortens the wait but does not abort the close. The step then
     * counts as not done.
     */
    private boolean waitFor(Waiting step) {
        try {
            return step.untilDone();
        } catch (InterruptedException e) {
            interrupted = true;
            return false;
        }
    }
}
