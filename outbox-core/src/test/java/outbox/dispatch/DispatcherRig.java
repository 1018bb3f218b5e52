package outbox.dispatch;

import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.dispatch.QueuedEvent.Source;
import outbox.fake.CountedMetrics;
import outbox.fake.FakeConnections;
import outbox.fake.MemoryEventStore;
import outbox.registry.DefaultListenerRegistry;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;

/**
 * Dispatchers on a store of the specification. {@link #close} opens the gates at which listeners wait, then closes
 * the dispatchers.
 */
final class DispatcherRig implements AutoCloseable {

    final MemoryEventStore store;
    final FakeConnections connections = new FakeConnections();
    final DefaultListenerRegistry registry = new DefaultListenerRegistry();
    final CountedMetrics metrics = new CountedMetrics();
    private final List<CountDownLatch> gates = new ArrayList<>();
    private final List<OutboxDispatcher> dispatchers = new ArrayList<>();

    DispatcherRig() {
        this(new MemoryEventStore());
    }

    DispatcherRig(MemoryEventStore store) {
        this.store = store;
    }

    OutboxDispatcher.Builder builder() {
        return OutboxDispatcher.builder()
                .connectionProvider(connections)
                .eventStore(store)
                .listenerRegistry(registry)
                .metrics(metrics.exporter())
                .retryPolicy(attempts -> 0);
    }

    OutboxDispatcher start(UnaryOperator<OutboxDispatcher.Builder> settings) {
        OutboxDispatcher dispatcher = settings.apply(builder()).build();
        dispatchers.add(dispatcher);
        return dispatcher;
    }

    /** Registers a listener for events of the given type without an aggregate. */
    DispatcherRig on(String eventType, EventListener listener) {
        registry.register(eventType, listener);
        return this;
    }

    CountDownLatch gate() {
        CountDownLatch gate = new CountDownLatch(1);
        gates.add(gate);
        return gate;
    }

    /** Waits for the gate like a listener that ignores interrupts. */
    static void passUninterruptibly(CountDownLatch gate) {
        while (true) {
            try {
                gate.await();
                return;
            } catch (InterruptedException e) {
                // ignored on purpose
            }
        }
    }

    static void await(CountDownLatch latch) throws InterruptedException {
        if (!latch.await(10, TimeUnit.SECONDS)) {
            throw new AssertionError("waited for 10 seconds");
        }
    }

    /** Returns a stored event of the given type that comes from the after-commit path. */
    QueuedEvent hot(String eventType) {
        return new QueuedEvent(store.given(eventType), Source.HOT, 0);
    }

    QueuedEvent hot(EventEnvelope event) {
        return new QueuedEvent(store.given(event), Source.HOT, 0);
    }

    QueuedEvent cold(String eventType) {
        return cold(store.given(eventType), 0);
    }

    static QueuedEvent cold(EventEnvelope event, int attempts) {
        return new QueuedEvent(event, Source.COLD, attempts);
    }

    /** Occupies a worker until the gate opens. Returns when the worker is in the listener. */
    CountDownLatch occupyWorker(OutboxDispatcher dispatcher) throws InterruptedException {
        CountDownLatch gate = gate();
        CountDownLatch inside = new CountDownLatch(1);
        String type = "occupies-" + gates.size();
        on(type, event -> {
            inside.countDown();
            passUninterruptibly(gate);
        });
        dispatcher.enqueueHot(hot(type));
        await(inside);
        return gate;
    }

    @Override
    public void close() {
        gates.forEach(CountDownLatch::countDown);
        dispatchers.forEach(OutboxDispatcher::close);
    }
}
