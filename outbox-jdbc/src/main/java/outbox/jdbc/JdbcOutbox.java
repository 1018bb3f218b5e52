package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import outbox.AggregateType;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.OutboxWriter;
import outbox.dispatch.OutboxDispatcher;
import outbox.poller.OutboxPoller;
import outbox.purge.OutboxPurge;
import outbox.registry.DefaultListenerRegistry;
import outbox.registry.ListenerRegistry;
import outbox.runtime.OutboxRuntime;
import outbox.spi.TxContext;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import javax.sql.DataSource;

/**
 * An outbox on a JDBC data source. It writes events in a transaction and delivers them to listeners.
 *
 * <pre>{@code
 * try (var outbox = JdbcOutbox.on(dataSource)
 *         .createTables()
 *         .listen("OrderPlaced", event -> mail.send(event.payloadJson()))
 *         .start()) {
 *     outbox.transaction(tx -> {
 *         tx.execute("INSERT INTO orders VALUES (?)", 1);
 *         tx.write("OrderPlaced", "{\"id\":1}");
 *     });
 * }
 * }</pre>
 *
 * <p>Several processes may share the table. Delivered events are kept for seven days. Thread-safe.
 */
public final class JdbcOutbox implements AutoCloseable {

    private final OutboxRuntime runtime;
    private final OutboxWriter writer;
    private final @Nullable JdbcTransactionManager transactions; // null if the outbox joins external transactions
    private final TxContext txContext;

    private JdbcOutbox(Builder builder) {
        AbstractJdbcEventStore store = builder.store();
        builder.checkTables(store);
        DataSourceConnectionProvider connections = new DataSourceConnectionProvider(builder.dataSource);
        if (builder.txContext == null) {
            ThreadLocalTxContext own = new ThreadLocalTxContext();
            txContext = own;
            transactions = new JdbcTransactionManager(connections, own);
        } else {
            txContext = builder.txContext;
            transactions = null;
        }
        OutboxRuntime.Builder parts = OutboxRuntime.builder(connections, store)
                .dispatcher(dispatching -> dispatching.listenerRegistry(builder.listeners()));
        if (builder.purges) {
            parts.purge(builder.purge);
        }
        builder.settings.accept(parts);
        runtime = parts.build();
        writer = new OutboxWriter(txContext, store, runtime.hook());
    }

    /** Starts a builder. The database is detected by the URL or the product name. */
    public static Builder on(DataSource dataSource) {
        return new Builder(dataSource);
    }

    /**
     * Runs the work in a new transaction and commits it. If the work throws, everything is rolled back and the
     * exception is rethrown. If this thread is already in a transaction, that one is suspended; the new transaction
     * is independent of it.
     *
     * @throws IllegalStateException if the outbox joins external transactions
     * @throws CommitOutcomeUnknownException if the connection broke during the commit
     */
    public <X extends Exception> void transaction(Work<X> work) throws X {
        try (JdbcTransactionManager.Transaction transaction = begin()) {
            work.run(new Tx(transaction.connection(), writer));
            transaction.commit();
        }
    }

    /**
     * Begins a transaction on this thread, for code that does not fit into {@link #transaction}. Write events with
     * {@link #writer()}. A transaction that is closed without a commit is rolled back.
     *
     * @throws IllegalStateException if the outbox joins external transactions
     */
    public JdbcTransactionManager.Transaction begin() {
        if (transactions == null) {
            throw new IllegalStateException("This outbox joins the transactions of "
                    + txContext.getClass().getName() + ". Begin them there, and write with writer().");
        }
        return transactions.begin();
    }

    /**
     * Returns a writer for the transaction of the calling thread: one of {@link #transaction}, or one that the
     * outbox joins.
     */
    public OutboxWriter writer() {
        return writer;
    }

    /** Returns the components that deliver events, for inspection and for waking the poller. */
    public OutboxRuntime runtime() {
        return runtime;
    }

    /** Stops claiming, waits up to the drain time for running deliveries, and writes their outcomes. */
    @Override
    public void close() {
        runtime.close();
    }

    /** Work in a transaction. It may throw any exception. */
    @FunctionalInterface
    public interface Work<X extends Exception> {
        void run(Tx tx) throws X;
    }

    /**
     * A transaction inside {@link JdbcOutbox#transaction}. Valid only on the calling thread and during that call.
     */
    public static final class Tx {

        private final Connection connection;
        private final OutboxWriter writer;

        private Tx(Connection connection, OutboxWriter writer) {
            this.connection = connection;
            this.writer = writer;
        }

        /**
         * Returns the connection for business statements. Savepoints are supported. The outbox commits or
         * rolls back.
         */
        public Connection connection() {
            return connection;
        }

        /** Executes one statement with these values as its parameters. Returns the number of changed rows. */
        public int execute(String sql, Object... values) throws SQLException {
            try (PreparedStatement statement = connection.prepareStatement(sql)) {
                for (int i = 0; i < values.length; i++) {
                    statement.setObject(i + 1, values[i]);
                }
                return statement.executeUpdate();
            }
        }

        /** Writes an event in this transaction and returns its id. */
        public String write(String eventType, String payloadJson) {
            return writer.write(eventType, payloadJson);
        }

        /** Writes an event in this transaction and returns its id. */
        public String write(EventEnvelope event) {
            return writer.write(event);
        }
    }

    /** Collects the settings. Not thread-safe. */
    public static final class Builder {

        private final DataSource dataSource;
        private final DefaultListenerRegistry added = new DefaultListenerRegistry();
        private boolean hasAdded;
        private @Nullable ListenerRegistry registry;
        private @Nullable String table;
        private @Nullable AbstractJdbcEventStore store;
        private @Nullable TxContext txContext;
        private boolean creates;
        private boolean purges = true;
        private Consumer<OutboxPurge.Builder> purge = part -> {};
        private Consumer<OutboxRuntime.Builder> settings = parts -> {};

        private Builder(DataSource dataSource) {
            this.dataSource = Objects.requireNonNull(dataSource, "dataSource");
        }

        /** Passes events of this type without an aggregate type to the listener. */
        public Builder listen(String eventType, EventListener listener) {
            return listen(AggregateType.GLOBAL.name(), eventType, listener);
        }

        /**
         * Passes events of this type and aggregate type to the listener. A second listener for the same pair
         * is refused.
         */
        public Builder listen(String aggregateType, String eventType, EventListener listener) {
            added.register(aggregateType, eventType, listener);
            hasAdded = true;
            return this;
        }

        /** Sets the registry that finds the listener of each event, instead of {@link #listen}. */
        public Builder listeners(ListenerRegistry registry) {
            this.registry = Objects.requireNonNull(registry, "registry");
            return this;
        }

        /** Default {@code outbox_event}. */
        public Builder table(String table) {
            this.table = Objects.requireNonNull(table, "table");
            return this;
        }

        /** Sets the store, instead of the default store for the database and the {@link #table}. */
        public Builder store(AbstractJdbcEventStore store) {
            this.store = Objects.requireNonNull(store, "store");
            return this;
        }

        /**
         * Creates the tables if they do not exist. Several nodes may do this at the same time. By default, the start
         * fails if a table is missing.
         */
        public Builder createTables() {
            creates = true;
            return this;
        }

        /**
         * Writes events in external transactions, such as those of Spring; default: {@link JdbcOutbox#transaction}.
         */
        public Builder joining(TxContext txContext) {
            this.txContext = Objects.requireNonNull(txContext, "txContext");
            return this;
        }

        /** Sets options of the dispatcher: workers, attempts, order, limits. May be called more than once. */
        public Builder dispatcher(Consumer<OutboxDispatcher.Builder> dispatcher) {
            return parts(parts -> parts.dispatcher(dispatcher));
        }

        /** Sets options of the poller: interval, batch size. May be called more than once. */
        public Builder poller(Consumer<OutboxPoller.Builder> poller) {
            return parts(parts -> parts.poller(poller));
        }

        /** Sets options of the purge: retention, interval. May be called more than once. */
        public Builder purge(Consumer<OutboxPurge.Builder> purge) {
            this.purge = this.purge.andThen(purge);
            return this;
        }

        /** Disables the purge, so that delivered events stay in the table. */
        public Builder withoutPurge() {
            purges = false;
            return this;
        }

        /** Sets options that several components share: metrics, lease, leadership, name of the node. */
        public Builder parts(Consumer<OutboxRuntime.Builder> parts) {
            settings = settings.andThen(parts);
            return this;
        }

        /**
         * Builds the outbox and starts the delivery.
         *
         * @throws IllegalStateException if a table is missing
         * @throws IllegalArgumentException if a setting is invalid
         */
        public JdbcOutbox start() {
            JdbcOutbox outbox = new JdbcOutbox(this);
            outbox.runtime.start();
            return outbox;
        }

        private AbstractJdbcEventStore store() {
            if (store == null) {
                return table == null ? JdbcEventStores.detect(dataSource) : JdbcEventStores.detect(dataSource, table);
            }
            if (table != null) {
                throw new IllegalArgumentException("The store is for table " + store.table() + "; leave out table("
                        + table + "), or make the store for that table");
            }
            return store;
        }

        private void checkTables(AbstractJdbcEventStore store) {
            if (creates) {
                OutboxSchema.create(dataSource, store);
                return;
            }
            List<String> missing = OutboxSchema.missing(dataSource, store);
            if (!missing.isEmpty()) {
                throw new IllegalStateException("The database has no " + String.join(", ", missing)
                        + ". Call createTables(), or run what `outbox schema print` prints.");
            }
        }

        private ListenerRegistry listeners() {
            if (registry == null) {
                return added;
            }
            if (hasAdded) {
                throw new IllegalArgumentException("Use either listen or listeners, not both");
            }
            return registry;
        }
    }
}
