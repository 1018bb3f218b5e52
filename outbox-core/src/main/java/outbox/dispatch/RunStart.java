package outbox.dispatch;

import outbox.internal.Expiry;
import outbox.internal.text.SafeLogger;
import outbox.spi.Mark;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;

/** The checks before a listener gets an event: this node leads, and it holds the event under a claim. */
final class RunStart {

    private static final Logger LOG = SafeLogger.of(RunStart.class);

    private final DispatcherParts parts;
    private final FailureLog failures;
    private final TimeLimits timeLimits;

    RunStart(DispatcherParts parts, FailureLog failures, TimeLimits timeLimits) {
        this.parts = parts;
        this.failures = failures;
        this.timeLimits = timeLimits;
    }

    /**
     * Whether the delivery may run now: no other thread has started it, it is claimed, and its run is recorded if it
     * is a suspect.
     */
    boolean isOurs(Worker worker, Delivery delivery) {
        boolean ours = isStarted(worker, delivery);
        if (!ours) {
            parts.admission.cancel(delivery);
            if (delivery.awaitsTurn()) {
                awaitTurn(delivery);
            } else {
                removeSkipped(delivery);
            }
        }
        return ours;
    }

    /** Removes a delivery that ended while it waited. It was removed once, but a worker has taken it since. */
    void removeSkipped(Delivery delivery) {
        if (delivery.state() == Delivery.State.SKIPPED) {
            parts.queues.remove(delivery);
        }
    }

    private boolean isStarted(Worker worker, Delivery delivery) {
        try {
            return delivery.start(worker) && isCovered(delivery) && isTracked(delivery) && isClaimed(delivery);
        } catch (RuntimeException | Error e) { // from the tracker or the store; the chain catches other user code
            LOG.log(
                    Level.ERROR,
                    "Cannot start event " + delivery.eventId() + "; it is released, no attempt is lost",
                    e);
            parts.endings.release(delivery);
            return false;
        }
    }

    /** Releases an event that this node may not deliver. This costs no attempt. */
    private boolean isCovered(Delivery delivery) {
        boolean covered = parts.term.covers(delivery);
        if (!covered) {
            parts.endings.release(delivery);
        }
        return covered;
    }

    /** If another run of this event is in progress, releases the event, so that it can be claimed again later. */
    private boolean isTracked(Delivery delivery) {
        boolean tracked = parts.inFlight.track(delivery);
        if (!tracked) {
            parts.endings.release(delivery);
        }
        return tracked;
    }

    private boolean isClaimed(Delivery delivery) {
        String token = delivery.token();
        if (!parts.store.ensureClaim(delivery)) {
            parts.endings.lose(delivery, token, "it is finished, held by another node, or has no row");
            return false;
        }
        if (parts.store.isExpired(delivery)) {
            markDead(delivery, Mark.dead(delivery.eventId(), delivery.token(), false, Expiry.REASON));
            return false;
        }
        if (delivery.isSuspect()) {
            if (!parts.queues.hasTurn(delivery)) {
                delivery.setAwaitsTurn(true);
                return false;
            }
            if (parts.policy.isExhausted(delivery)) {
                markDead(delivery, parts.policy.exhausted(delivery));
                return false;
            }
            String claimed = delivery.token();
            if (!parts.store.recordRun(delivery)) {
                parts.endings.lose(delivery, claimed, "its lease expired");
                return false;
            }
        }
        return true;
    }

    /** Marks the event as dead without an attempt. */
    private void markDead(Delivery delivery, Mark outcome) {
        failures.dead(delivery, outcome);
        parts.endings.mark(delivery, outcome);
    }

    /**
     * Makes the event wait for its turn, because the claim has shown that it is a suspect. After that another worker
     * may take it.
     */
    private void awaitTurn(Delivery delivery) {
        delivery.setAwaitsTurn(false);
        delivery.setRunsAlone(parts.policy.mustRunAlone(delivery));
        parts.inFlight.untrack(delivery);
        if (delivery.requeue()) {
            parts.queues.suspend(delivery);
            parts.queues.resume(delivery);
        }
    }

    /** Gives the current thread to the listener. The last check of leadership is here, as late as possible. */
    boolean enterListener(Delivery delivery) {
        delivery.setTimeLimit(timeLimits.of(parts.routeOf(delivery)));
        boolean entered = parts.term.covers(delivery) && delivery.enterListener();
        if (!entered) {
            parts.endings.release(delivery);
        }
        return entered;
    }
}
