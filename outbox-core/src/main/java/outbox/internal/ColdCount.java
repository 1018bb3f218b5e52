package outbox.internal;

import org.jspecify.annotations.Nullable;
import outbox.spi.MetricsExporter;

/**
 * Counts the events that a poller hands over. If the dispatcher behind the handler counts an event with the same
 * exporter on the poller's thread, the event is not counted again.
 */
public final class ColdCount {

    private static final ThreadLocal<@Nullable ColdCount> CURRENT = new ThreadLocal<>(); // during a hand-over

    private final MetricsExporter metrics;
    private boolean counted; // guarded by the poller's lock

    public ColdCount(MetricsExporter metrics) {
        this.metrics = metrics;
    }

    /** The hand-over of an event begins. */
    public void begin() {
        counted = false;
        CURRENT.set(this);
    }

    /** The hand-over ends. */
    public void end(boolean taken) {
        CURRENT.remove();
        if (taken && !counted) {
            metrics.incrementColdEnqueued();
        }
    }

    /** Counts an event that a dispatcher took from a poller. */
    public static void count(MetricsExporter metrics) {
        metrics.incrementColdEnqueued();
        ColdCount current = CURRENT.get();
        if (current != null && GuardedMetrics.isSame(current.metrics, metrics)) {
            current.counted = true;
        }
    }
}
