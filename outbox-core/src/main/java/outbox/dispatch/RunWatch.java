package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.internal.text.SafeLogger;
import outbox.spi.Mark;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.concurrent.TimeoutException;

/** Acts on the findings of the lease keeper, on the thread of the keeper. */
final class RunWatch implements LeaseKeeper.Listener {

    private static final Logger LOG = SafeLogger.of(RunWatch.class);

    private final DispatcherParts parts;
    private final @Nullable PauseWatch pauses; // null if the store does not support pauses

    RunWatch(DispatcherParts parts, @Nullable PauseWatch pauses) {
        this.parts = parts;
        this.pauses = pauses;
    }

    @Override
    public void leaseLost(Delivery delivery) {
        LOG.log(Level.WARNING, "The lease of event " + delivery.eventId() + " was lost: another node may deliver it");
        if (!parts.endings.loseQueued(delivery, "its lease expired while it waited")
                && delivery.cancel(Delivery.Cancel.LEASE_LOST)) {
            parts.metrics.incrementLostClaims();
        }
    }

    @Override
    public void stuck(Delivery delivery, String why) {
        if (delivery.state() == Delivery.State.RUNNING) {
            TimeoutException failure = new TimeoutException(why);
            Mark mark = parts.policy.outcome(delivery, failure, parts.admission.leave(delivery, failure));
            parts.metrics.incrementStuckListeners();
            LOG.log(Level.ERROR, "The listener of event " + delivery.eventId() + " is stuck; its worker is replaced");
            Worker worker = delivery.worker();
            if (worker != null) {
                parts.pool.replace(worker);
            }
            parts.endings.mark(delivery, mark);
        }
    }

    @Override
    public void tick() {
        parts.intake.wakeIfAcceptingAgain();
        if (pauses != null) {
            pauses.readIfDue();
        }
        parts.metrics.recordLiveWorkers(parts.pool.liveWorkers());
        parts.admission.report(parts.metrics);
        parts.intake.recordDepths();
    }
}
