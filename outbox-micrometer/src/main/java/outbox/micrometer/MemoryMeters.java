package outbox.micrometer;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import outbox.spi.MetricsExporter;

import java.util.Objects;
import java.util.function.IntSupplier;

/**
 * The meters of an outbox in memory, without labels: {@code events_enqueued_total}, {@code events_dispatched_total},
 * {@code events_retry_total}, {@code events_failed_total}, {@code events_dropped_total} and {@code
 * events_in_memory_queue_gauge}; and {@code reconcile_fixed_total} with the label {@code job}. Use one object per
 * registry. That registry must have no {@link OutboxMeters} with reconcile jobs, because their labels differ.
 * Thread-safe.
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
                    "The registry already has the meters of an outbox in memory. Share that MemoryMeters object.");
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

    /** Adds the gauge of waiting events, usually {@code store::pending}. */
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

    /** The program defines the jobs, so the number of labels is small. */
    @Override
    public void recordReconciled(String job, int events) {
        Counter.builder("reconcile.fixed")
                .description("Events that a job wrote because they were missing")
                .tag("job", job)
                .register(registry) // returns the existing counter from the second call on
                .increment(events);
    }

    /** No effect: there is no hot path. */
    @Override
    public void incrementHotEnqueued() {}

    /** No effect: there is no hot path. */
    @Override
    public void incrementHotDropped() {}

    /** No effect: every event uses this path. */
    @Override
    public void incrementColdEnqueued() {}

    /** No effect: the gauge shows the waiting events. */
    @Override
    public void recordQueueDepths(int hotDepth, int coldDepth) {}

    /** No effect: the gauge shows the waiting events. */
    @Override
    public void recordOldestLagMs(long lagMs) {}
}
