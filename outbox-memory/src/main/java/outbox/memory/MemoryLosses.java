package outbox.memory;

import outbox.EventEnvelope;
import outbox.internal.EventRules;
import outbox.internal.GuardedMetrics;
import outbox.internal.ThrottledLog;
import outbox.internal.text.SafeLogger;
import outbox.spi.MetricsExporter;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;

/**
 * Counts and logs the events that a store in memory has lost. Must be called without the lock of the table, because
 * the metrics and the log are foreign code. Thread-safe.
 */
final class MemoryLosses {

    private static final Logger LOG = SafeLogger.of(MemoryEventStore.class);

    private final MetricsExporter metrics;
    private final String bounds;
    private final ThrottledLog drops = new ThrottledLog(LOG);
    private final ThrottledLog dead = new ThrottledLog(LOG);
    private final ThrottledLog abandoned = new ThrottledLog(LOG);

    MemoryLosses(MetricsExporter metrics, String bounds) {
        this.metrics = GuardedMetrics.of(metrics);
        this.bounds = bounds;
    }

    /** Reports an event that was dropped for lack of room. Called after its transaction has committed. */
    void dropped(EventEnvelope event) {
        metrics.recordDropped(event.eventType());
        drops.log(Level.WARNING, "There is no room in memory for " + show(event) + "; it is dropped", null);
    }

    /** Reports a dead event that was removed because another event needed its room. */
    void gaveUp(EventEnvelope event) {
        metrics.recordDropped(event.eventType());
        dead.log(
                Level.WARNING,
                "Dead " + show(event) + " is given up for a new one. Replay or discard dead events before.",
                null);
    }

    void abandoned(Duration longest) {
        abandoned.log(
                Level.WARNING,
                "A transaction with events in memory has not ended within " + longest + "; they are dropped",
                null);
    }

    private String show(EventEnvelope event) {
        return "event " + event.eventId() + " (type " + EventRules.show(event.eventType())
                + "), the store is bounded by " + bounds;
    }
}
