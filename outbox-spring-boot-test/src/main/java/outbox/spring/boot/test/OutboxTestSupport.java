package outbox.spring.boot.test;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.core.Ordered;
import outbox.OutboxWriter;
import outbox.dispatch.OutboxDispatcher;
import outbox.payload.PayloadCodec;
import outbox.spi.EventStore;
import outbox.spring.boot.OutboxCustomizer;
import outbox.spring.boot.OutboxInstance;
import outbox.testing.TestClock;
import outbox.testing.TestOutbox;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Prepares each outbox for tests while it is built, and creates its {@link TestOutbox}. */
final class OutboxTestSupport implements OutboxCustomizer, Ordered {

    private final TestClock clock;
    private final ObjectProvider<PayloadCodec> payloads;
    private final Map<String, EventStore> stores = new ConcurrentHashMap<>();

    OutboxTestSupport(ObjectProvider<TestClock> clock, ObjectProvider<PayloadCodec> payloads) {
        this.clock = clock.getIfAvailable(TestClock::new);
        this.payloads = payloads;
    }

    @Override
    public EventStore store(String outbox, EventStore store) {
        return stores.computeIfAbsent(outbox, name -> TestOutbox.watched(store, clock));
    }

    @Override
    public boolean startsByItself(String outbox) {
        return false;
    }

    @Override
    public void dispatcher(String outbox, OutboxDispatcher.Builder builder) {
        EventStore store = stores.get(outbox);
        if (store != null) {
            TestOutbox.prepare(builder, store);
        }
    }

    /** Runs after the customizers of the application. */
    @Override
    public int getOrder() {
        return LOWEST_PRECEDENCE;
    }

    /** Factory method of the beans that {@link TestOutboxRegistrar} registers. */
    TestOutbox testOutbox(OutboxInstance instance) {
        TestOutbox.Builder builder = TestOutbox.builder(instance.store(), instance.connections(), instance.txContext())
                .listeners(instance.listeners());
        if (instance.store() == stores.get(instance.name())) { // otherwise other code built the instance
            builder.deliveredBy(() -> dispatcher(instance));
        }
        OutboxWriter writer = instance.writer();
        if (writer != null) {
            builder.writer(writer);
        }
        payloads.ifUnique(builder::payloads);
        return builder.build();
    }

    private static OutboxDispatcher dispatcher(OutboxInstance instance) {
        OutboxDispatcher dispatcher = instance.dispatcher();
        if (dispatcher == null) {
            throw new IllegalStateException("Nothing can be delivered by " + instance
                    + ": the application has not started yet, or its outbox.role is writer");
        }
        return dispatcher;
    }
}
