package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.internal.GuardedMetrics;
import outbox.internal.QuietLog;
import outbox.spi.AfterCommitHook;
import outbox.spi.Claim;
import outbox.spi.EventStore;
import outbox.spi.MetricsExporter;
import outbox.spi.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Instant;
import java.util.Objects;

/**
 * The hot path: hands committed events to a dispatcher in memory. Events are born leased to that dispatcher, so no poller
 * takes them meanwhile. If the hot queue has no room for all events that a transaction has written, its further events
 * are born free and the poller is woken after the commit. An event that finds the hot queue full after the commit is
 * released at once. Both are counted, with a warning.
 */
public final class DispatcherCommitHook implements AfterCommitHook {

    private static final Logger LOG = SafeLogger.of(DispatcherCommitHook.class);

    private final OutboxDispatcher dispatcher;
    private final MetricsExporter metrics;
    private final QuietLog drops = new QuietLog(LOG);

    /** Counts drops with the metrics of the dispatcher. */
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
            dispatcher.giveBack(queued, claim);
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
