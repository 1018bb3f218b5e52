package outbox.micrometer;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import outbox.spi.MetricsExporter;

import java.util.Objects;
import java.util.function.IntSupplier;

/**
 * The meters of an outbox in memory, under names of their own without labels: {@code events_enqueued_total}, {@code events_dispatched_total}, {@code events_retry_total}, {@code events_failed_total},
 * {@code events_dropped_total} and {@code events_in_memory_queue_gauge}; and {@code reconcile_fixed_total} with the
 * label {@code job}. One per registry, which has no {@link OutboxMeters} with reconcile jobs then: that one
 * has other labels. Thread-safe.
 */
public final class MemoryMeters implements MetricsExporter {

    private final MeterRegistry registry;
    private final Counter enqueued;
    private final Counter dispatched;
    private final Counter retried;
    private final Counter failed;
    private final Counter dropped;

    /**
     * Registers the counters.
     *
     * @throws IllegalArgumentException if the registry has them already
     */
    public MemoryMeters(MeterRegistry registry) {
        this.registry = Objects.requireNonNull(registry, "registry");
        if (registry.find("events.enqueued").meter() != null) {
            throw new IllegalArgumentException(
                    "The registry has the meters of an outbox in memory already. Share the one.");
        }
        enqueued = counter("events.enqueued", "Events that were written and committed");
        dispatched = counter("events.dispatched", "Events that were delivered");
        retried = counter("events.retry", "Attempts that failed and are followed by another");
        failed = counter("events.failed", "Events that became DEAD");
        dropped = counter("events.dropped", "Events that were lost because memory was full");
    }

    private Counter counter(String name, String description) {
        return Counter.builder(name).description(description).register(registry);
    }

    /** Adds the gauge of what waits, usually {@code store::pending}. */
    public MemoryMeters queue(IntSupplier pending) {
        Objects.requireNonNull(pending, "pending");
        Gauge.builder("events.in.memory.queue.gauge", pending, IntSupplier::getAsInt)
                .description("Events in memory that are NEW or RETRY")
                .strongReference(true)
                .register(registry);
        return this;
    }

    @Override
    public void recordEnqueued(String eventType) {
        enqueued.increment();
    }

    @Override
    public void incrementDispatchSuccess() {
        dispatched.increment();
    }

    @Override
    public void incrementDispatchFailure() {
        retried.increment();
    }

    @Override
    public void incrementDispatchDead() {
        failed.increment();
    }

    @Override
    public void recordDropped(String eventType) {
        dropped.increment();
    }

    /** Jobs are made by the program, so there are few. */
    @Override
    public void recordReconciled(String job, int events) {
        Counter.builder("reconcile.fixed")
                .description("Events that a job wrote because they were missing")
                .tag("job", job)
                .register(registry) // the one that is there, from the second time on
                .increment(events);
    }

    /** Nothing: there is no hot path. */
    @Override
    public void incrementHotEnqueued() {}

    /** Nothing: there is no hot path. */
    @Override
    public void incrementHotDropped() {}

    /** Nothing: every event comes this way. */
    @Override
    public void incrementColdEnqueued() {}

    /** Nothing: the gauge tells what waits. */
    @Override
    public void recordQueueDepths(int hotDepth, int coldDepth) {}

    /** Nothing: the gauge tells what waits. */
    @Override
    public void recordOldestLagMs(long lagMs) {}
}
