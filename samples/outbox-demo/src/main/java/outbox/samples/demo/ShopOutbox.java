package outbox.samples.demo;

import outbox.OutboxWriter;
import outbox.dispatch.DispatcherCommitHook;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.ExponentialBackoffRetryPolicy;
import outbox.dispatch.OutboxDispatcher;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.DataSourceConnectionProvider;
import outbox.jdbc.JdbcEventStores;
import outbox.jdbc.JdbcTransactionManager;
import outbox.jdbc.OutboxSchema;
import outbox.jdbc.ThreadLocalTxContext;
import outbox.poller.OutboxPoller;
import outbox.registry.DefaultListenerRegistry;
import outbox.spi.ConnectionProvider;

import javax.sql.DataSource;

/** The outbox of the shop: all the wiring there is. */
final class ShopOutbox implements AutoCloseable {

    private final JdbcTransactionManager transactions;
    private final OutboxWriter writer;
    private final OutboxWriter writerWithoutHook;
    private final OutboxDispatcher dispatcher;
    private final OutboxPoller poller;

    ShopOutbox(DataSource dataSource, Ledger ledger) {
        AbstractJdbcEventStore store = JdbcEventStores.detect(dataSource);
        OutboxSchema.create(dataSource, store);
        ConnectionProvider connections = new DataSourceConnectionProvider(dataSource);
        Warehouse warehouse = new Warehouse(ledger);

        dispatcher = OutboxDispatcher.builder()
                .connectionProvider(connections)
                .eventStore(store)
                .listenerRegistry(new DefaultListenerRegistry()
                        .register(Order.AGGREGATE, Order.PLACED, warehouse)
                        .register(Order.AGGREGATE, Order.IMPORTED, warehouse))
                .hotQueueCapacity(32) // so small that a burst overflows it, and the poller takes over
                .maxAttempts(5) // so few, and so soon, that an order to Atlantis is dead in a second or two
                .retryPolicy(new ExponentialBackoffRetryPolicy(50, 1000))
                .metrics(ledger.metrics())
                .build();
        poller = OutboxPoller.builder()
                .connectionProvider(connections)
                .eventStore(store)
                .handler(new ColdPath(new DispatcherPollerHandler(dispatcher), ledger))
                .intervalMs(200)
                .build();
        poller.start();

        ThreadLocalTxContext txContext = new ThreadLocalTxContext();
        transactions = new JdbcTransactionManager(connections, txContext);
        writer = new OutboxWriter(txContext, store, new DispatcherCommitHook(dispatcher));
        writerWithoutHook = new OutboxWriter(txContext, store);
    }

    JdbcTransactionManager transactions() {
        return transactions;
    }

    /** Its events are delivered right after the commit. */
    OutboxWriter writer() {
        return writer;
    }

    /** Its events wait for the poller. */
    OutboxWriter writerWithoutHook() {
        return writerWithoutHook;
    }

    @Override
    public void close() {
        poller.close();
        dispatcher.close();
    }
}
