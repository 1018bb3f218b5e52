package outbox.internal;

import org.jspecify.annotations.Nullable;
import outbox.internal.text.SafeLogger;
import outbox.spi.MetricsExporter;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;

/** Protects the engine from an exporter that throws. */
public final class GuardedMetrics implements MetricsExporter {

    private static final Logger LOG = SafeLogger.of(GuardedMetrics.class);

    private final MetricsExporter exporter;
    private final ThrottledLog trouble = new ThrottledLog(LOG);

    private GuardedMetrics(MetricsExporter exporter) {
        this.exporter = exporter;
    }

    public static MetricsExporter of(MetricsExporter exporter) {
        return exporter == NOOP || exporter instanceof GuardedMetrics ? exporter : new GuardedMetrics(exporter);
    }

    /** Whether both report to the same exporter, guarded or not. */
    static boolean isSame(MetricsExporter one, MetricsExporter other) {
        return exporterOf(one) == exporterOf(other);
    }

    private static MetricsExporter exporterOf(MetricsExporter metrics) {
        return metrics instanceof GuardedMetrics guarded ? guarded.exporter : metrics;
    }

    @Override
    public void incrementHotEnqueued() {
        guard(exporter::incrementHotEnqueued);
    }

    @Override
    public void incrementHotDropped() {
        guard(exporter::incrementHotDropped);
    }

    @Override
    public void incrementColdEnqueued() {
        guard(exporter::incrementColdEnqueued);
    }

    @Override
    public void incrementDispatchSuccess() {
        guard(exporter::incrementDispatchSuccess);
    }

    @Override
    public void incrementDispatchFailure() {
        guard(exporter::incrementDispatchFailure);
    }

    @Override
    public void incrementDispatchDead() {
        guard(exporter::incrementDispatchDead);
    }

    @Override
    public void recordQueueDepths(int hotDepth, int coldDepth) {
        guard(() -> exporter.recordQueueDepths(hotDepth, coldDepth));
    }

    @Override
    public void recordOldestLagMs(long lagMs) {
        guard(() -> exporter.recordOldestLagMs(lagMs));
    }

    @Override
    public void incrementLostClaims() {
        guard(exporter::incrementLostClaims);
    }

    @Override
    public void incrementStuckListeners() {
        guard(exporter::incrementStuckListeners);
    }

    @Override
    public void incrementMarkFailures() {
        guard(exporter::incrementMarkFailures);
    }

    @Override
    public void recordLiveWorkers(int workers) {
        guard(() -> exporter.recordLiveWorkers(workers));
    }

    @Override
    public void recordBreaker(String breaker, String state) {
        guard(() -> exporter.recordBreaker(breaker, state));
    }

    @Override
    public void recordLimit(String limit, int running, int waiting) {
        guard(() -> exporter.recordLimit(limit, running, waiting));
    }

    @Override
    public void recordPauses(int pauses) {
        guard(() -> exporter.recordPauses(pauses));
    }

    @Override
    public void recordEnqueued(String eventType) {
        guard(() -> exporter.recordEnqueued(eventType));
    }

    @Override
    public void recordDispatch(String eventType, boolean delivered, Duration took) {
        guard(() -> exporter.recordDispatch(eventType, delivered, took));
    }

    @Override
    public void recordDead(@Nullable String eventType) {
        guard(() -> exporter.recordDead(eventType));
    }

    @Override
    public void recordDropped(String eventType) {
        guard(() -> exporter.recordDropped(eventType));
    }

    @Override
    public void recordReconciled(String job, int events) {
        guard(() -> exporter.recordReconciled(job, events));
    }

    @Override
    public void recordReconcileFailure(String job) {
        guard(() -> exporter.recordReconcileFailure(job));
    }

    @Override
    public void recordPoll() {
        guard(exporter::recordPoll);
    }

    @Override
    public void recordPurged(int events) {
        guard(() -> exporter.recordPurged(events));
    }

    @Override
    public void recordPurgeFailure() {
        guard(exporter::recordPurgeFailure);
    }

    private void guard(Runnable call) {
        try {
            call.run();
        } catch (Throwable e) { // also Errors: an incompatible library must not stop the marking of outcomes
            trouble.log(Level.WARNING, "The metrics exporter failed; the outbox goes on without its count", e);
        }
    }
}
