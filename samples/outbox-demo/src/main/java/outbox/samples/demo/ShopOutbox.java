package outbox.samples.demo;

import outbox.OutboxWriter;
import outbox.dispatch.ExponentialBackoffRetryPolicy;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.DataSourceConnectionProvider;
import outbox.jdbc.JdbcEventStores;
import outbox.jdbc.JdbcOutbox;
import outbox.jdbc.JdbcTransactionManager;
import outbox.jdbc.ThreadLocalTxContext;

import javax.sql.DataSource;

/**
 * The outbox of the shop, with all its wiring. Most programs need less. The shop manages its own transactions,
 * because it also writes events that skip the hot path.
 */
final class ShopOutbox implements AutoCloseable {

    private final JdbcTransactionManager transactions;
    private final OutboxWriter writerWithoutHook;
    private final JdbcOutbox outbox;

    ShopOutbox(DataSource dataSource, Ledger ledger) {
        AbstractJdbcEventStore store = JdbcEventStores.detect(dataSource);
        ThreadLocalTxContext txContext = new ThreadLocalTxContext();
        transactions = new JdbcTransactionManager(new DataSourceConnectionProvider(dataSource), txContext);
        writerWithoutHook = new OutboxWriter(txContext, store);

        Warehouse warehouse = new Warehouse(ledger);
        outbox = JdbcOutbox.on(dataSource)
                .store(store)
                .createTables()
                .joining(txContext)
                .listen(Order.AGGREGATE, Order.PLACED, warehouse)
                .listen(Order.AGGREGATE, Order.IMPORTED, warehouse)
                .dispatcher(dispatcher -> dispatcher
                        .hotQueueCapacity(32) // so small that a burst overflows it and the poller takes over
                        .maxAttempts(5) // so few that an order to Atlantis is dead after a second or two
                        .retryPolicy(new ExponentialBackoffRetryPolicy(50, 1000))
                        .metrics(ledger.metrics()))
                .poller(poller -> poller.intervalMs(200))
                .parts(parts -> parts.handler(next -> new ColdPath(next, ledger)))
                .withoutPurge() // the books are compared with all events
                .start();
    }

    JdbcTransactionManager transactions() {
        return transactions;
    }

    /** Returns a writer whose events are delivered right after the commit. */
    OutboxWriter writer() {
        return outbox.writer();
    }

    /** Returns a writer whose events wait for the poller. */
    OutboxWriter writerWithoutHook() {
        return writerWithoutHook;
    }

    @Override
    public void close() {
        outbox.close();
    }
}
