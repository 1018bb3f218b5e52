package outbox.memory;

import outbox.EventEnvelope;
import outbox.internal.EventRules;
import outbox.internal.GuardedMetrics;
import outbox.internal.QuietLog;
import outbox.spi.MetricsExporter;
import outbox.spi.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;

/** Counts and logs what a store in memory has lost. Called without the lock of its table: neither the metrics nor the log are ours. Thread-safe. */
final class MemoryLosses {

    private static final Logger LOG = SafeLogger.of(MemoryEventStore.class);

    private final MetricsExporter metrics;
    private final String bounds;
    private final QuietLog drops = new QuietLog(LOG);
    private final QuietLog dead = new QuietLog(LOG);
    private final QuietLog abandoned = new QuietLog(LOG);

    MemoryLosses(MetricsExporter metrics, String bounds) {
        this.metrics = GuardedMetrics.of(metrics);
        this.bounds = bounds;
    }

    /** An event that found no room; its transaction has committed. */
    void dropped(EventEnvelope event) {
        metrics.recordDropped(event.eventType());
        drops.log(Level.WARNING, "There is no room in memory for " + show(event) + "; it is dropped", null);
    }

    /** A dead event whose room another one needed. */
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
