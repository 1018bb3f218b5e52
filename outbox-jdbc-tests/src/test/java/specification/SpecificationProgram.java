package specification;

import outbox.AfterCommitHook;
import outbox.AggregateType;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.EventType;
import outbox.OutboxWriter;
import outbox.StringAggregateType;
import outbox.StringEventType;
import outbox.dispatch.DefaultInFlightTracker;
import outbox.dispatch.DispatcherCommitHook;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.EventInterceptor;
import outbox.dispatch.ExponentialBackoffRetryPolicy;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.QueuedEvent;
import outbox.jdbc.DataSourceConnectionProvider;
import outbox.jdbc.JdbcEventStores;
import outbox.jdbc.JdbcTransactionManager;
import outbox.jdbc.ThreadLocalTxContext;
import outbox.poller.OutboxPoller;
import outbox.registry.DefaultListenerRegistry;
import outbox.spi.ConnectionProvider;
import outbox.spi.EventStore;
import outbox.spi.MetricsExporter;
import outbox.spi.TxContext;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;

/** A program written only from the two texts of the specification. */
final class SpecificationProgram implements AutoCloseable {

    enum UserEvents implements EventType {
        USER_CREATED,
        USER_DELETED
    }

    enum Aggregates implements AggregateType {
        USER
    }

    /** Implements only the eight methods of the specification. */
    static final class Counting implements MetricsExporter {
        final AtomicInteger hot = new AtomicInteger();
        final AtomicInteger cold = new AtomicInteger();
        final AtomicInteger success = new AtomicInteger();
        final AtomicInteger failure = new AtomicInteger();
        final AtomicInteger dead = new AtomicInteger();

        @Override
        public void incrementHotEnqueued() {
            hot.incrementAndGet();
        }

        @Override
        public void incrementHotDropped() {}

        @Override
        public void incrementColdEnqueued() {
            cold.incrementAndGet();
        }

        @Override
        public void incrementDispatchSuccess() {
            success.incrementAndGet();
        }

        @Override
        public void incrementDispatchFailure() {
            failure.incrementAndGet();
        }

        @Override
        public void incrementDispatchDead() {
            dead.incrementAndGet();
        }

        @Override
        public void recordQueueDepths(int hotDepth, int coldDepth) {}

        @Override
        public void recordOldestLagMs(long lagMs) {}
    }

    final List<String> log = Collections.synchronizedList(new ArrayList<>());
    final Counting metrics = new Counting();
    final DataSource dataSource;
    final EventStore eventStore;
    final ConnectionProvider connectionProvider;
    final ThreadLocalTxContext txContext = new ThreadLocalTxContext();
    final JdbcTransactionManager transactionManager;
    final OutboxDispatcher dispatcher;
    final OutboxPoller poller;
    final OutboxWriter writer;
    final OutboxWriter coldWriter;
    final OutboxWriter handMadeHookWriter;

    SpecificationProgram(DataSource dataSource) {
        this.dataSource = dataSource;
        eventStore = JdbcEventStores.detect(dataSource);
        connectionProvider = new DataSourceConnectionProvider(dataSource);
        transactionManager = new JdbcTransactionManager(connectionProvider, txContext);

        DefaultListenerRegistry registry = new DefaultListenerRegistry();
        EventListener greeting = event -> log.add("greet " + event.payloadJson());
        registry.register(Aggregates.USER, UserEvents.USER_CREATED, greeting);
        registry.register(
                "Order", "OrderPlaced", event -> log.add("order " + event.aggregateId() + " of " + event.tenantId()));
        registry.register("Plain", event -> log.add("plain " + event.headers()));
        registry.register("Fails", event -> {
            throw new IllegalStateException("never");
        });

        dispatcher = OutboxDispatcher.builder()
                .connectionProvider(connectionProvider)
                .eventStore(eventStore)
                .listenerRegistry(registry)
                .inFlightTracker(new DefaultInFlightTracker(60_000))
                .retryPolicy(new ExponentialBackoffRetryPolicy(1, 2))
                .maxAttempts(2)
                .workerCount(2)
                .hotQueueCapacity(100)
                .coldQueueCapacity(100)
                .metrics(metrics)
                .interceptor(EventInterceptor.before(event -> log.add("before " + event.eventType())))
                .interceptors(List.of(EventInterceptor.after((event, error) ->
                        log.add("after " + event.eventType() + " " + (error == null ? "ok" : "failed")))))
                .drainTimeoutMs(2000)
                .build();
        poller = new OutboxPoller(
                connectionProvider,
                eventStore,
                new DispatcherPollerHandler(dispatcher),
                Duration.ZERO,
                50,
                1000,
                metrics,
                "poller-1",
                Duration.ofMinutes(5));
        TxContext tx = txContext;
        writer = new OutboxWriter(tx, eventStore, new DispatcherCommitHook(dispatcher, metrics));
        coldWriter = new OutboxWriter(tx, eventStore, AfterCommitHook.NOOP);
        handMadeHookWriter = new OutboxWriter(
                tx, eventStore, event -> dispatcher.enqueueHot(new QueuedEvent(event, QueuedEvent.Source.HOT, 0)));
    }

    List<String> writeEverything() throws SQLException {
        List<String> ids = new ArrayList<>();
        try (JdbcTransactionManager.Transaction tx = transactionManager.begin()) {
            ids.add(writer.write(EventEnvelope.builder(UserEvents.USER_CREATED)
                    .aggregateType(Aggregates.USER)
                    .aggregateId("123")
                    .payloadJson("{\"name\":\"John\"}")
                    .build()));
            ids.addAll(coldWriter.writeAll(List.of(
                    EventEnvelope.builder(StringEventType.of("OrderPlaced"))
                            .aggregateType(StringAggregateType.of("Order"))
                            .aggregateId("7")
                            .tenantId("tenant-123")
                            .payloadJson("{}")
                            .build(),
                    EventEnvelope.builder("Plain")
                            .headers(Map.of("k", "v"))
                            .payloadBytes("{}".getBytes(StandardCharsets.UTF_8))
                            .build())));
            ids.add(handMadeHookWriter.write("Plain", "{}"));
            ids.add(writer.write(UserEvents.USER_DELETED, "{}")); // no listener for this type
            ids.add(writer.write(EventEnvelope.ofJson("Fails", "{}")));
            tx.commit();
        }
        return ids;
    }

    int status(String eventId) throws SQLException {
        try (Connection connection = dataSource.getConnection();
                PreparedStatement select =
                        connection.prepareStatement("SELECT status FROM outbox_event WHERE event_id = ?")) {
            select.setString(1, eventId);
            try (ResultSet row = select.executeQuery()) {
                row.next();
                return row.getInt(1);
            }
        }
    }

    @Override
    public void close() {
        poller.close();
        dispatcher.close();
    }
}
