package specification;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.OutboxWriter;
import outbox.dispatch.DispatcherCommitHook;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.QueuedEvent;
import outbox.jdbc.DataSourceConnectionProvider;
import outbox.jdbc.JdbcEventStores;
import outbox.jdbc.JdbcTransactionManager;
import outbox.jdbc.OutboxSchema;
import outbox.jdbc.ThreadLocalTxContext;
import outbox.poller.OutboxPoller;
import outbox.registry.DefaultListenerRegistry;
import outbox.spi.AfterCommitHook;
import outbox.spi.ConnectionProvider;
import outbox.spi.EventStore;
import outbox.spi.MetricsExporter;
import outbox.spi.OutboxPollerHandler;
import outbox.spi.TxContext;
import outbox.testing.server.PostgresServer;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** A program that follows the English text, where the hook and the handler are in {@code outbox.spi}. */
@Timeout(60)
class SpiPackagesTest {

    private final List<String> delivered = new CopyOnWriteArrayList<>();
    private final List<String> committed = new CopyOnWriteArrayList<>();

    @Test
    void hook_and_handler_may_be_those_of_the_spi_package() throws Exception {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(PostgresServer.shared().createDatabase());
        try (HikariDataSource pool = new HikariDataSource(config)) {
            ConnectionProvider connections = new DataSourceConnectionProvider(pool);
            EventStore store = JdbcEventStores.detect(pool);
            OutboxSchema.create(pool, JdbcEventStores.detect(pool));
            DefaultListenerRegistry registry = new DefaultListenerRegistry();
            registry.register("Any", event -> delivered.add(event.eventId()));
            try (OutboxDispatcher dispatcher = OutboxDispatcher.builder()
                    .connectionProvider(connections)
                    .eventStore(store)
                    .listenerRegistry(registry)
                    .build()) {
                AfterCommitHook hot = new DispatcherCommitHook(dispatcher);
                AfterCommitHook notifier = event -> committed.add(event.eventId());
                OutboxPollerHandler ready = new DispatcherPollerHandler(dispatcher);
                OutboxPollerHandler handMade = (event, attempts) ->
                        dispatcher.enqueueCold(new QueuedEvent(event, QueuedEvent.Source.COLD, attempts));

                String byHook = write(connections, store, hot);
                String notified = write(connections, store, notifier);
                String byHandler = write(connections, store, AfterCommitHook.NOOP);

                assertThat(ready.hasCapacity()).isTrue();
                try (OutboxPoller poller = new OutboxPoller(
                        connections, store, handMade, Duration.ZERO, 50, 5000, MetricsExporter.NOOP, null, null)) {
                    poller.poll();
                    await().untilAsserted(
                                    () -> assertThat(delivered).containsExactlyInAnyOrder(byHook, notified, byHandler));
                }
                assertThat(committed).containsExactly(notified);
            }
        }
    }

    private static String write(ConnectionProvider connections, EventStore store, AfterCommitHook hook)
            throws Exception {
        ThreadLocalTxContext txContext = new ThreadLocalTxContext();
        TxContext tx = txContext;
        OutboxWriter writer = new OutboxWriter(tx, store, hook);
        try (JdbcTransactionManager.Transaction transaction =
                new JdbcTransactionManager(connections, txContext).begin()) {
            String id = writer.write("Any", "{}");
            transaction.commit();
            return id;
        }
    }
}
