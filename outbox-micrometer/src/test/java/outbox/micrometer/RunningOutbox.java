package outbox.micrometer;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.admin.OutboxAdmin;
import outbox.dispatch.CircuitBreaker;
import outbox.dispatch.DispatcherCommitHook;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.Protection;
import outbox.dispatch.Protection.Limit;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.JdbcEventStores;
import outbox.jdbc.JdbcTransactionManager;
import outbox.jdbc.OutboxSchema;
import outbox.jdbc.ThreadLocalTxContext;
import outbox.poller.OutboxPoller;
import outbox.purge.OutboxPurge;
import outbox.registry.DefaultListenerRegistry;
import outbox.testing.metrics.Scrape;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;

/**
 * An application with an outbox and all its meters. {@code good} is delivered, {@code bad} fails and is DEAD after
 * two attempts, {@code slow} waits until {@link #slow} is open. Other types have no listener.
 */
final class RunningOutbox implements AutoCloseable {

    static final String TABLE = "outbox_event";

    final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    final CountDownLatch slow = new CountDownLatch(1);
    final OutboxMeters meters;
    final OutboxAdmin admin;
    private final HikariDataSource dataSource;
    private final JdbcTransactionManager transactions;
    private final OutboxDispatcher dispatcher;
    private final OutboxPoller poller;
    private final OutboxPurge purge;
    private final OutboxWriter hot;
    private final OutboxWriter cold;
    volatile boolean down; // for the meters only
    volatile boolean leader = true;

    RunningOutbox(String url) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setMaximumPoolSize(8);
        dataSource = new HikariDataSource(config);
        AbstractJdbcEventStore store = JdbcEventStores.detect(dataSource);
        OutboxSchema.create(dataSource, store);
        admin = new OutboxAdmin(this::connect, store);
        meters = OutboxMeters.builder(registry, TABLE)
                .backlog(admin::backlog)
                .dead(admin::deadEvents)
                .sampleEvery(Duration.ofMillis(1))
                .relayLeader(() -> leader)
                .build();
        DefaultListenerRegistry listeners = new DefaultListenerRegistry()
                .register("good", event -> {})
                .register("slow", event -> slow.await())
                .register("bad", event -> {
                    throw new IllegalStateException("refused");
                });
        dispatcher = OutboxDispatcher.builder()
                .connectionProvider(dataSource::getConnection)
                .eventStore(store)
                .listenerRegistry(listeners)
                .retryPolicy(attempts -> 0)
                .maxAttempts(2)
                .protection(Protection.builder()
                        .breakerForType(
                                "good", CircuitBreaker.named("warehouse").build())
                        .limitType("good", Limit.concurrency(3))
                        .limitEachTenant(Limit.concurrency(3))
                        .build())
                .metrics(meters)
                .build();
        poller = OutboxPoller.builder()
                .connectionProvider(dataSource::getConnection)
                .eventStore(store)
                .handler(new DispatcherPollerHandler(dispatcher))
                .metrics(meters)
                .intervalMs(50)
                .build();
        poller.start();
        purge = OutboxPurge.builder()
                .connectionProvider(dataSource::getConnection)
                .eventStore(store)
                .metrics(meters)
                .build();
        purge.start();
        ThreadLocalTxContext txContext = new ThreadLocalTxContext();
        transactions = new JdbcTransactionManager(dataSource::getConnection, txContext);
        hot = new OutboxWriter(txContext, store, new DispatcherCommitHook(dispatcher)).countedBy(meters);
        cold = new OutboxWriter(txContext, store).countedBy(meters);
    }

    private Connection connect() throws SQLException {
        if (down) {
            throw new SQLException("The database is down for this test", "08001");
        }
        return dataSource.getConnection();
    }

    void write(String eventType) {
        write(hot, eventType, true);
    }

    void writeCold(String eventType) {
        write(cold, eventType, true);
    }

    void rollBack(String eventType) {
        write(hot, eventType, false);
    }

    private void write(OutboxWriter writer, String eventType, boolean commits) {
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            writer.write(EventEnvelope.builder(eventType)
                    .tenantId("acme")
                    .payloadJson("{}")
                    .build());
            if (commits) {
                tx.commit();
            }
        }
    }

    Scrape scrape() {
        return Scrape.of(registry.scrape());
    }

    @Override
    public void close() {
        slow.countDown();
        poller.close();
        purge.close();
        dispatcher.close();
        dataSource.close();
    }
}
