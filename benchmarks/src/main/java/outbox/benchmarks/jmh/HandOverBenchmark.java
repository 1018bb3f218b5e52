package outbox.benchmarks.jmh;

import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;
import outbox.EventEnvelope;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.QueuedEvent;
import outbox.registry.DefaultListenerRegistry;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Measures the path from the hand-over after the commit to the listener: queue, worker, interceptors and mark, with
 * a store that keeps nothing.
 */
@State(Scope.Benchmark)
@Fork(2)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
public class HandOverBenchmark {
    private static final int BURST = 500;
    private static final String PAYLOAD = "x".repeat(200);

    private final AtomicLong delivered = new AtomicLong();
    private final OutboxDispatcher dispatcher;

    /** Uses the default settings. */
    public HandOverBenchmark() {
        DefaultListenerRegistry listeners = new DefaultListenerRegistry();
        listeners.register("OrderPlaced", event -> delivered.incrementAndGet());
        dispatcher = OutboxDispatcher.builder()
                .connectionProvider(ForgetfulStore::connection)
                .eventStore(new ForgetfulStore())
                .listenerRegistry(listeners)
                .build();
    }

    @TearDown(Level.Trial)
    public void stop() {
        dispatcher.close();
    }

    /** The time until the listener of one event has run. */
    @Benchmark
    @BenchmarkMode(Mode.SampleTime)
    @OutputTimeUnit(TimeUnit.MICROSECONDS)
    public long one() {
        long before = delivered.get();
        enqueue();
        return await(before + 1);
    }

    /** The throughput of many events at once. */
    @Benchmark
    @BenchmarkMode(Mode.Throughput)
    @OutputTimeUnit(TimeUnit.SECONDS)
    @OperationsPerInvocation(BURST)
    public long burst() {
        long before = delivered.get();
        for (int i = 0; i < BURST; i++) {
            enqueue();
        }
        return await(before + BURST);
    }

    private void enqueue() {
        QueuedEvent event = new QueuedEvent(EventEnvelope.ofJson("OrderPlaced", PAYLOAD), QueuedEvent.Source.HOT, 0);
        while (!dispatcher.enqueueHot(event)) {
            Thread.onSpinWait(); // the queue is full until marks are written
        }
    }

    private long await(long count) {
        while (delivered.get() < count) {
            Thread.onSpinWait();
        }
        return count;
    }
}
