package outbox.samples.multids;

import org.h2.jdbcx.JdbcConnectionPool;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.dispatch.DispatcherCommitHook;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.DataSourceConnectionProvider;
import outbox.jdbc.JdbcEventStores;
import outbox.jdbc.JdbcTransactionManager;
import outbox.jdbc.JdbcTransactionManager.Transaction;
import outbox.jdbc.OutboxSchema;
import outbox.jdbc.ThreadLocalTxContext;
import outbox.poller.OutboxPoller;
import outbox.registry.DefaultListenerRegistry;
import outbox.spi.ConnectionProvider;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * A department with a database of its own. Everything of its outbox belongs to that one database: transactions, writer, dispatcher and poller. A second department is a second
 * instance; they share nothing.
 */
final class Department implements AutoCloseable {

    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private final String name;
    private final JdbcConnectionPool database;
    private final JdbcTransactionManager transactions;
    private final OutboxWriter writer;
    private final OutboxDispatcher dispatcher;
    private final OutboxPoller poller;
    private final BlockingQueue<EventEnvelope> delivered = new LinkedBlockingQueue<>();

    Department(String name, String eventType) {
        this.name = name;
        database = JdbcConnectionPool.create("jdbc:h2:mem:" + name, "", "");
        AbstractJdbcEventStore store = JdbcEventStores.detect(database);
        OutboxSchema.create(database, store);

        ConnectionProvider connections = new DataSourceConnectionProvider(database);
        dispatcher = OutboxDispatcher.builder()
                .connectionProvider(connections)
                .eventStore(store)
                .listenerRegistry(new DefaultListenerRegistry().register(eventType, delivered::add))
                .build();
        poller = OutboxPoller.builder()
                .connectionProvider(connections)
                .eventStore(store)
                .handler(new DispatcherPollerHandler(dispatcher))
                .build();
        poller.start();

        ThreadLocalTxContext txContext = new ThreadLocalTxContext();
        transactions = new JdbcTransactionManager(connections, txContext);
        writer = new OutboxWriter(txContext, store, new DispatcherCommitHook(dispatcher));
    }

    String name() {
        return name;
    }

    Transaction begin() {
        return transactions.begin();
    }

    OutboxWriter writer() {
        return writer;
    }

    /** Waits for the next event that the listener of this department gets. */
    String nextDelivered() throws InterruptedException {
        EventEnvelope event = delivered.poll(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
        return event == null ? "nothing" : event.eventType() + " " + event.payloadJson();
    }

    /** Whether the listener got more than was asked for. */
    boolean hasMoreDelivered() {
        return !delivered.isEmpty();
    }

    /** The types of all events in this department's database. */
    List<String> storedEvents() throws SQLException {
        try (Connection connection = database.getConnection();
                PreparedStatement select =
                        connection.prepareStatement("SELECT event_type FROM outbox_event ORDER BY created_at");
                ResultSet rows = select.executeQuery()) {
            List<String> types = new ArrayList<>();
            while (rows.next()) {
                types.add(rows.getString(1));
            }
            return types;
        }
    }

    /** Poller first, so that nothing new comes; then the dispatcher, which finishes what it has; the database last. */
    @Override
    public void close() {
        poller.close();
        dispatcher.close();
        database.dispose();
    }
}
