package outbox.benchmarks;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.dispatch.DispatcherCommitHook;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.Capability;
import outbox.jdbc.DataSourceConnectionProvider;
import outbox.jdbc.JdbcEventStores;
import outbox.jdbc.JdbcTransactionManager;
import outbox.jdbc.JdbcTransactionManager.Transaction;
import outbox.jdbc.OutboxSchema;
import outbox.jdbc.ThreadLocalTxContext;
import outbox.order.Ordering;
import outbox.poller.OutboxPoller;
import outbox.registry.DefaultListenerRegistry;
import outbox.spi.ConnectionProvider;

import java.util.List;
import javax.sql.DataSource;

/** The library with its default settings, except for those in the name of the variant. */
final class OurOutbox implements Contender {
    private static final String AGGREGATE = "Order";
    private static final String TYPE = "OrderPlaced";
    private static final int INVOICES_PER_SECOND = 50;

    private final Variant variant;

    /** The settings that differ from the defaults. */
    enum Variant {
        DEFAULTS("outbox", "defaults") {
            @Override
            void apply(OutboxDispatcher.Builder builder) {}
        },
        DELETE("outbox-delete", "done events are deleted") {
            @Override
            void apply(OutboxDispatcher.Builder builder) {
                builder.deleteDone(true);
            }
        },
        VIRTUAL("outbox-virtual", "workers are virtual threads") {
            @Override
            void apply(OutboxDispatcher.Builder builder) {
                builder.virtualThreads(true);
            }
        },
        CONTROL(
                "outbox-control",
                INVOICES_PER_SECOND
                        + " invoices per second beside, which use delivery control: keys, due times and priorities, "
                        + "retry rules, a circuit breaker and limits; tables of pauses and of attempts") {
            @Override
            void apply(OutboxDispatcher.Builder builder) {
                Invoices.protect(builder);
            }
        };

        private final String title;
        private final String description;

        Variant(String title, String description) {
            this.title = title;
            this.description = description;
        }

        abstract void apply(OutboxDispatcher.Builder builder);
    }

    OurOutbox(Variant variant) {
        this.variant = variant;
    }

    @Override
    public String name() {
        return variant.title;
    }

    @Override
    public String description() {
        return "this library: %s; in order per aggregate in W5 and W9, 64 workers in W8".formatted(variant.description);
    }

    @Override
    public boolean isPeer() {
        return false;
    }

    @Override
    public void createSchema(Product product, DataSource dataSource) {
        OutboxTable.create(dataSource);
        if (variant == Variant.CONTROL) {
            Invoices.extendSchema(dataSource);
        }
    }

    @Override
    public int invoicesPerSecond() {
        return variant == Variant.CONTROL ? INVOICES_PER_SECOND : 0;
    }

    @Override
    public String pendingSql() {
        return variant == Variant.CONTROL ? OutboxTable.PENDING_PLAIN : OutboxTable.PENDING;
    }

    @Override
    public String historySql(Product product, int rows) {
        return OutboxTable.historySql(product, rows);
    }

    @Override
    public Node node(NodeSetup setup) {
        return new OurNode(variant, setup);
    }

    private static final class OurNode implements Node {
        private final Variant variant;
        private final NodeSetup setup;
        private final AbstractJdbcEventStore store;
        private final ConnectionProvider connections;
        private final ThreadLocalTxContext txContext = new ThreadLocalTxContext();
        private final JdbcTransactionManager transactions;
        private OutboxWriter writer; // replaced by start, before the writer threads run
        private @Nullable OutboxDispatcher dispatcher;
        private @Nullable OutboxPoller poller;

        OurNode(Variant variant, NodeSetup setup) {
            this.variant = variant;
            this.setup = setup;
            store = JdbcEventStores.detect(setup.dataSource());
            connections = new DataSourceConnectionProvider(setup.dataSource());
            transactions = new JdbcTransactionManager(connections, txContext);
            writer = new OutboxWriter(txContext, store);
        }

        @Override
        public void write(Event event) throws Exception {
            try (Transaction transaction = transactions.begin()) {
                Business.change(transaction.connection(), event);
                writer.write(envelope(event));
                transaction.commit();
            }
        }

        @Override
        public void writeBacklog(List<Event> events) {
            try (Transaction transaction = transactions.begin()) {
                writer.writeAll(events.stream().map(OurNode::envelope).toList());
                transaction.commit();
            }
        }

        @Override
        public void writeInvoices(List<Event> events) throws Exception {
            try (Transaction transaction = transactions.begin()) {
                for (Event event : events) {
                    Business.change(transaction.connection(), event);
                }
                writer.writeAll(events.stream().map(Invoices::envelope).toList());
                transaction.commit();
            }
        }

        private static EventEnvelope envelope(Event event) {
            return EventEnvelope.builder(TYPE)
                    .aggregateType(AGGREGATE)
                    .aggregateId(event.aggregateId())
                    .payloadJson(event.payload())
                    .build();
        }

        @Override
        public void start() {
            DefaultListenerRegistry listeners = new DefaultListenerRegistry();
            listeners.register(AGGREGATE, TYPE, event -> setup.ledger().deliver(event.payloadJson()));
            if (variant == Variant.CONTROL) {
                Invoices.register(listeners, setup.destination());
            }
            OutboxDispatcher.Builder builder = OutboxDispatcher.builder()
                    .connectionProvider(connections)
                    .eventStore(store)
                    .listenerRegistry(listeners);
            variant.apply(builder);
            setup.workers().ifPresent(builder::workerCount);
            if (setup.ordered()) {
                OutboxSchema.create(setup.dataSource(), store, Capability.ORDER);
                builder.ordering(Ordering.perAggregate());
            }
            OutboxDispatcher dispatcher = builder.build();
            OutboxPoller poller = OutboxPoller.builder()
                    .connectionProvider(connections)
                    .eventStore(store)
                    .handler(new DispatcherPollerHandler(dispatcher))
                    .build();
            poller.start();
            writer = new OutboxWriter(txContext, store, new DispatcherCommitHook(dispatcher));
            this.dispatcher = dispatcher;
            this.poller = poller;
        }

        @Override
        public void close() {
            if (poller != null) {
                poller.close();
            }
            if (dispatcher != null) {
                dispatcher.close();
            }
        }
    }
}
