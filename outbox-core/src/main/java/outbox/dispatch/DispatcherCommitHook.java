package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.internal.GuardedMetrics;
import outbox.internal.ThrottledLog;
import outbox.internal.text.SafeLogger;
import outbox.spi.AfterCommitHook;
import outbox.spi.Claim;
import outbox.spi.EventStore;
import outbox.spi.MetricsExporter;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Instant;
import java.util.Objects;

/**
 * The hot path: passes committed events to a dispatcher in memory. Events are inserted with a lease of that
 * dispatcher, so that no poller claims them. If the hot queue has no room for all events of a transaction, its
 * further events are inserted without a lease, and the poller is woken after the commit. An event that finds the hot
 * queue full after the commit is released at once. Both cases are counted and logged as a warning.
 */
public final class DispatcherCommitHook implements AfterCommitHook {

    private static final Logger LOG = SafeLogger.of(DispatcherCommitHook.class);

    private final OutboxDispatcher dispatcher;
    private final MetricsExporter metrics;
    private final ThrottledLog drops = new ThrottledLog(LOG);

    /** Counts dropped events with the metrics of the dispatcher. */
    public DispatcherCommitHook(OutboxDispatcher dispatcher) {
        this(dispatcher, dispatcher.metrics());
    }

    public DispatcherCommitHook(OutboxDispatcher dispatcher, MetricsExporter metrics) {
        this.dispatcher = Objects.requireNonNull(dispatcher, "dispatcher");
        this.metrics = GuardedMetrics.of(Objects.requireNonNull(metrics, "metrics"));
    }

    @Override
    public @Nullable Claim birthClaim(int events, long bytes) {
        return dispatcher.birthClaim(events, bytes);
    }

    @Override
    public void requireStore(EventStore store) {
        dispatcher.requireTable(store);
    }

    @Override
    public boolean leavesFreeEvents() {
        return dispatcher.leavesFreeEvents();
    }

    @Override
    public void onFree(int events) {
        if (dispatcher.wakePoller()) {
            dropped(events, "it has no room for " + events + " events, which are left to the poller");
        }
    }

    @Override
    public void onScheduled(Instant availableAt) {
        dispatcher.scheduled(availableAt);
    }

    @Override
    public void onCommit(EventEnvelope event) {
        onCommit(event, null);
    }

    @Override
    public void onCommit(EventEnvelope event, @Nullable Claim claim) {
        QueuedEvent queued = new QueuedEvent(event, QueuedEvent.Source.HOT, 0);
        if (!dispatcher.enqueueHot(queued, claim)) {
            dispatcher.release(queued, claim);
            dropped(1, "event " + event.eventId() + " is left to the poller");
        }
    }

    private void dropped(int events, String what) {
        for (int i = 0; i < events; i++) {
            metrics.incrementHotDropped();
        }
        drops.log(Level.WARNING, "The hot queue is full or closing: " + what, null);
    }
}
