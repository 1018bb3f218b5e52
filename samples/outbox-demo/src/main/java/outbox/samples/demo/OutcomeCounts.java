package outbox.samples.demo;

import outbox.spi.MetricsExporter;

import java.util.concurrent.atomic.LongAdder;

/** The three numbers of the outbox that the screen shows. */
final class OutcomeCounts implements MetricsExporter {

    private final LongAdder overflowed = new LongAdder();
    private final LongAdder retried = new LongAdder();
    private final LongAdder dead = new LongAdder();

    long overflowed() {
        return overflowed.sum();
    }

    long retried() {
        return retried.sum();
    }

    long dead() {
        return dead.sum();
    }

    @Override
    public void incrementHotDropped() {
        overflowed.increment();
    }

    @Override
    public void incrementDispatchFailure() {
        retried.increment();
    }

    @Override
    public void incrementDispatchDead() {
        dead.increment();
    }

    @Override
    public void incrementHotEnqueued() {}

    @Override
    public void incrementColdEnqueued() {}

    @Override
    public void incrementDispatchSuccess() {}

    @Override
    public void recordQueueDepths(int hotDepth, int coldDepth) {}

    @Override
    public void recordOldestLagMs(long lagMs) {}
}
