package outbox.samples.course;

import outbox.spi.MetricsExporter;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.IntSupplier;

/**
 * The counters of section 9 in the Prometheus text format. {@code MemoryMeters} of outbox-micrometer has the same
 * names for applications with a metrics library.
 */
final class CourseMeters implements MetricsExporter {

    private final LongAdder enqueued = new LongAdder();
    private final LongAdder dispatched = new LongAdder();
    private final LongAdder retried = new LongAdder();
    private final LongAdder failed = new LongAdder();
    private final Map<String, LongAdder> fixed = new ConcurrentHashMap<>(); // by job

    CourseMeters(String... jobs) {
        for (String job : jobs) {
            fixed.put(job, new LongAdder()); // so that each counter starts at zero
        }
    }

    /** @param pending the number of events that wait in memory */
    String text(IntSupplier pending) {
        StringBuilder text = new StringBuilder();
        counter(text, "events_enqueued_total", enqueued);
        counter(text, "events_dispatched_total", dispatched);
        counter(text, "events_retry_total", retried);
        counter(text, "events_failed_total", failed);
        text.append("# TYPE events_in_memory_queue_gauge gauge\nevents_in_memory_queue_gauge ")
                .append(pending.getAsInt())
                .append("\n# TYPE reconcile_fixed_total counter\n");
        new TreeMap<>(fixed)
                .forEach((job, count) -> text.append("reconcile_fixed_total{job=\"")
                        .append(job)
                        .append("\"} ")
                        .append(count.sum())
                        .append('\n'));
        return text.toString();
    }

    private static void counter(StringBuilder text, String name, LongAdder count) {
        text.append("# TYPE ").append(name).append(" counter\n");
        text.append(name).append(' ').append(count.sum()).append('\n');
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
    public void recordReconciled(String job, int events) {
        fixed.computeIfAbsent(job, name -> new LongAdder()).add(events);
    }

    /** Does nothing: the specification has no name for it. */
    @Override
    public void incrementHotEnqueued() {}

    /** Does nothing: the specification has no name for it. */
    @Override
    public void incrementHotDropped() {}

    /** Does nothing: the specification has no name for it. */
    @Override
    public void incrementColdEnqueued() {}

    /** Does nothing: the gauge shows the waiting events. */
    @Override
    public void recordQueueDepths(int hotDepth, int coldDepth) {}

    /** Does nothing: the specification has no name for it. */
    @Override
    public void recordOldestLagMs(long lagMs) {}
}
