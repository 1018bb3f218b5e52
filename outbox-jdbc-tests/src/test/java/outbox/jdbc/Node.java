package outbox.jdbc;

import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.OutboxWriter;
import outbox.dispatch.DispatcherCommitHook;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.poller.OutboxPoller;
import outbox.spi.LeasingEventStore;
import outbox.spi.MetricsExporter;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import javax.sql.DataSource;

/** An application with an outbox, configured as a user would do it. One listener receives and keeps all events. */
final class Node implements AutoCloseable {

    /** Counts the metrics of the engine that the specification does not define. */
    static class Counts implements MetricsExporter {
        final AtomicInteger lostClaims = new AtomicInteger();
        final AtomicInteger stuck = new AtomicInteger();
        final AtomicInteger markFailures = new AtomicInteger();
        final AtomicInteger hotDropped = new AtomicInteger();
        final AtomicInteger success = new AtomicInteger();
        final AtomicInteger failure = new AtomicInteger();
        final AtomicInteger dead = new AtomicInteger();

        @Override
        public void incrementHotEnqueued() {}

        @Override
        public void incrementHotDropped() {
            hotDropped.incrementAndGet();
        }

        @Override
        public void incrementColdEnqueued() {}

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

        @Override
        public void incrementLostClaims() {
            lostClaims.incrementAndGet();
        }

        @Override
        public void incrementStuckListeners() {
            stuck.incrementAndGet();
        }

        @Override
        public void incrementMarkFailures() {
            markFailures.incrementAndGet();
        }
    }

    /** Changes or rejects a connection. */
    @FunctionalInterface
    interface Lending {
        void to(Connection connection) throws SQLException;
    }

    final List<EventEnvelope> delivered = new CopyOnWriteArrayList<>();
    final Counts counts = new Counts();
    final ThreadLocalTxContext txContext = new ThreadLocalTxContext();
    final JdbcTransactionManager transactions;
    final OutboxDispatcher dispatcher;
    final OutboxPoller poller;
    final OutboxWriter writer; // with the hot path
    final OutboxWriter coldWriter; // leaves everything to pollers
    final AtomicInteger connections = new AtomicInteger(); // connections that the engine requested
    volatile boolean down; // the engine cannot reach the database
    // applied to a connection before the engine gets it
    volatile Lending lending = connection -> {};
    volatile EventListener listener = event -> {};

    Node(DataSource dataSource, LeasingEventStore store) {
        this(dataSource, store, dispatcher -> {}, poller -> {});
    }

    Node(
            DataSource dataSource,
            LeasingEventStore store,
            Consumer<OutboxDispatcher.Builder> dispatcherSettings,
            Consumer<OutboxPoller.Builder> pollerSettings) {
        transactions = new JdbcTransactionManager(dataSource::getConnection, txContext);
        OutboxDispatcher.Builder dispatching = OutboxDispatcher.builder()
                .connectionProvider(() -> connect(dataSource))
                .eventStore(store)
                .listenerRegistry((aggregateType, eventType) -> this::receive)
                .retryPolicy(attempts -> 0)
                .metrics(counts);
        dispatcherSettings.accept(dispatching);
        dispatcher = dispatching.build();
        OutboxPoller.Builder polling = OutboxPoller.builder()
                .connectionProvider(() -> connect(dataSource))
                .eventStore(store)
                .handler(new DispatcherPollerHandler(dispatcher))
                .metrics(counts)
                .intervalMs(50);
        pollerSettings.accept(polling);
        poller = polling.build();
        writer = new OutboxWriter(txContext, store, new DispatcherCommitHook(dispatcher));
        coldWriter = new OutboxWriter(txContext, store);
    }

    static Node withLease(DataSource dataSource, LeasingEventStore store, Duration lease) {
        return new Node(dataSource, store, dispatcher -> {}, poller -> poller.lockTimeout(lease));
    }

    private Connection connect(DataSource dataSource) throws SQLException {
        connections.incrementAndGet();
        if (down) {
            throw new SQLException("The database is down for this test", "08001");
        }
        Connection connection = dataSource.getConnection();
        try {
            lending.to(connection);
            return connection;
        } catch (SQLException e) {
            connection.close();
            throw e;
        }
    }

    private void receive(EventEnvelope event) throws Exception {
        delivered.add(event);
        listener.onEvent(event);
    }

    EventEnvelope write(String payload) {
        return write(writer, EventEnvelope.ofJson("T", payload));
    }

    EventEnvelope writeCold(String payload) {
        return write(coldWriter, EventEnvelope.ofJson("T", payload));
    }

    EventEnvelope write(OutboxWriter by, EventEnvelope event) {
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            by.write(event);
            tx.commit();
        }
        return event;
    }

    List<String> deliveredIds() {
        return delivered.stream().map(EventEnvelope::eventId).toList();
    }

    @Override
    public void close() {
        poller.close();
        dispatcher.close();
    }
}
