package outbox.testing.contract;

import outbox.spi.MetricsExporter;

import java.util.concurrent.atomic.AtomicInteger;

/** Counts the purged events and the failures that purges report. */
final class PurgeCounts implements MetricsExporter {

    final AtomicInteger purged = new AtomicInteger();
    final AtomicInteger failures = new AtomicInteger();

    @Override
    public void recordPurged(int events) {
        purged.addAndGet(events);
    }

    @Override
    public void recordPurgeFailure() {
        failures.incrementAndGet();
    }

    @Override
    public void incrementHotEnqueued() {}

    @Override
    public void incrementHotDropped() {}

    @Override
    public void incrementColdEnqueued() {}

    @Override
    public void incrementDispatchSuccess() {}

    @Override
    public void incrementDispatchFailure() {}

    @Override
    public void incrementDispatchDead() {}

    @Override
    public void recordQueueDepths(int hotDepth, int coldDepth) {}

    @Override
    public void recordOldestLagMs(long lagMs) {}
}
