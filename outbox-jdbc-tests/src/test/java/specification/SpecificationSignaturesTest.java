package specification;

import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.Test;
import outbox.AggregateType;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.EventType;
import outbox.OutboxWriter;
import outbox.StringAggregateType;
import outbox.StringEventType;
import outbox.dispatch.DefaultInFlightTracker;
import outbox.dispatch.EventInterceptor;
import outbox.dispatch.ExponentialBackoffRetryPolicy;
import outbox.dispatch.InFlightTracker;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.QueuedEvent;
import outbox.dispatch.RetryPolicy;
import outbox.dispatch.UnroutableEventException;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.DataSourceConnectionProvider;
import outbox.jdbc.H2EventStore;
import outbox.jdbc.JdbcEventStores;
import outbox.jdbc.JdbcTransactionManager;
import outbox.jdbc.MySqlEventStore;
import outbox.jdbc.OutboxSchema;
import outbox.jdbc.PostgresEventStore;
import outbox.jdbc.ThreadLocalTxContext;
import outbox.model.EventStatus;
import outbox.model.OutboxEvent;
import outbox.poller.OutboxPoller;
import outbox.registry.DefaultListenerRegistry;
import outbox.registry.ListenerRegistry;
import outbox.spi.ConnectionProvider;
import outbox.spi.EventStore;
import outbox.spi.MetricsExporter;
import outbox.spi.TxContext;
import outbox.util.JsonCodec;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Calls every signature of the two texts, as a reader of the texts would. {@link SpecificationProgram} runs them
 * together. {@link EnglishImports} and {@link ChineseImports} cover the two types that are in different packages in
 * the two texts.
 */
class SpecificationSignaturesTest {

    private enum UserEvents implements EventType {
        USER_CREATED
    }

    private enum Aggregates implements AggregateType {
        USER
    }

    /** Implements only the methods of the text, without those that have a default. */
    private static final class OwnStore implements EventStore {

        final List<String> calls = new ArrayList<>();

        @Override
        public void insertNew(Connection conn, EventEnvelope event) {
            calls.add("insert");
        }

        @Override
        public int markDone(Connection conn, String eventId) {
            calls.add("done");
            return 1;
        }

        @Override
        public int markRetry(Connection conn, String eventId, Instant nextAt, String error) {
            calls.add("retry");
            return 1;
        }

        @Override
        public int markDead(Connection conn, String eventId, String error) {
            calls.add("dead");
            return 1;
        }

        @Override
        public List<OutboxEvent> pollPending(Connection conn, Instant now, Duration skipRecent, int limit) {
            calls.add("poll " + limit);
            return List.of();
        }
    }

    private record OwnTx(Connection currentConnection, List<Runnable> afterCommit) implements TxContext {

        @Override
        public boolean isTransactionActive() {
            return true;
        }

        @Override
        public void afterCommit(Runnable callback) {
            afterCommit.add(callback);
        }

        @Override
        public void afterRollback(Runnable callback) {}
    }

    private static JdbcDataSource database(String name) {
        JdbcDataSource database = new JdbcDataSource();
        database.setURL("jdbc:h2:mem:signatures-" + name + ";DB_CLOSE_DELAY=-1");
        return database;
    }

    @Test
    void envelopes() {
        Instant occurredAt = Instant.parse("2026-01-01T00:00:00Z");
        EventEnvelope json = EventEnvelope.builder(UserEvents.USER_CREATED)
                .eventId("e-1")
                .occurredAt(occurredAt)
                .aggregateType(Aggregates.USER)
                .aggregateId("123")
                .tenantId("tenant-123")
                .headers(Map.of("k", "v"))
                .payloadJson("{}")
                .build();
        EventEnvelope bytes = EventEnvelope.builder(StringEventType.of("DynamicEvent"))
                .aggregateType(StringAggregateType.of("CustomAggregate"))
                .aggregateId("id-456")
                .payloadBytes("{}".getBytes(StandardCharsets.UTF_8))
                .build();
        EventEnvelope named =
                EventEnvelope.builder("T").aggregateType("A").payloadJson("{}").build();

        assertThat(List.of(json.eventId(), json.eventType(), json.aggregateType()))
                .containsExactly("e-1", "USER_CREATED", "USER");
        assertThat(json.occurredAt()).isEqualTo(occurredAt);
        assertThat(json.aggregateId()).isEqualTo("123");
        assertThat(json.tenantId()).isEqualTo("tenant-123");
        assertThat(json.headers()).isEqualTo(Map.of("k", "v"));
        assertThat(json.payloadJson()).isEqualTo("{}");
        assertThat(bytes.payloadBytes()).asString().isEqualTo("{}");
        assertThat(named.aggregateType()).isEqualTo("A");
        assertThat(EventEnvelope.ofJson("UserCreated", "{}").aggregateType())
                .isEqualTo(AggregateType.GLOBAL.name())
                .isEqualTo("__GLOBAL__");
        assertThat(EventEnvelope.ofJson(UserEvents.USER_CREATED, "{}").eventId())
                .hasSize(26);
        EventType type = StringEventType.of("DynamicEvent");
        AggregateType aggregate = StringAggregateType.of("CustomAggregate");
        assertThat(type.name() + " " + aggregate.name()).isEqualTo("DynamicEvent CustomAggregate");
    }

    @Test
    void writers_on_a_store_and_a_transaction_of_ones_own() throws SQLException {
        OwnStore store = new OwnStore();
        try (Connection connection = database("own").getConnection()) {
            connection.setAutoCommit(false);
            OwnTx tx = new OwnTx(connection, new ArrayList<>());
            List<String> committed = new ArrayList<>();

            String id = new OutboxWriter(tx, store).write(EventEnvelope.ofJson("T", "{}"));
            new OutboxWriter(tx, store).write("T", "{}");
            new OutboxWriter(tx, store).write(UserEvents.USER_CREATED, "{}");
            List<String> ids = new OutboxWriter(tx, store, event -> committed.add(event.eventId()))
                    .writeAll(List.of(EventEnvelope.ofJson("T", "{}")));
            tx.afterCommit().forEach(Runnable::run);

            assertThat(id).hasSize(26);
            assertThat(committed).isEqualTo(ids);
            assertThat(store.calls).containsExactly("insert", "insert", "insert", "insert");
            assertThat(store.claimPending(connection, "me", Instant.EPOCH, Instant.EPOCH, Duration.ZERO, 7))
                    .isEmpty();
            assertThat(store.calls).endsWith("poll 7");
        }
    }

    @Test
    void transactions_and_stores() throws SQLException {
        JdbcDataSource database = tables("stores");
        AbstractJdbcEventStore store = JdbcEventStores.detect(database);
        ConnectionProvider connections = new DataSourceConnectionProvider(database);
        ThreadLocalTxContext txContext = new ThreadLocalTxContext();
        JdbcTransactionManager transactions = new JdbcTransactionManager(connections, txContext);
        List<String> callbacks = new ArrayList<>();
        Instant later = Instant.now().plusSeconds(60);
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            txContext.afterCommit(() -> callbacks.add("committed"));
            Connection connection = txContext.currentConnection();
            store.insertNew(connection, EventEnvelope.ofJson("T", "{}"));
            OutboxEvent row =
                    store.pollPending(connection, later, Duration.ZERO, 10).get(0);
            assertThat(row.eventType() + row.payloadJson() + row.attempts()).isEqualTo("T{}0");
            assertThat(store.claimPending(connection, "me", later, Instant.EPOCH, Duration.ZERO, 10))
                    .hasSize(1);
            assertThat(store.markRetry(connection, row.eventId(), later, "why")).isEqualTo(1);
            assertThat(store.markDead(connection, row.eventId(), "why")).isEqualTo(1);
            assertThat(store.markDone(connection, row.eventId())).isEqualTo(1);
            assertThat(store.markDone(connection, row.eventId())).isZero();
            tx.commit();
        }
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            txContext.afterRollback(() -> callbacks.add("rolled back"));
            tx.rollback();
        }

        assertThat(callbacks).containsExactly("committed", "rolled back");
        assertThat(txContext.isTransactionActive()).isFalse();
        assertThat(store).isInstanceOf(H2EventStore.class);
        assertThat(List.of(new H2EventStore(), new MySqlEventStore(), new PostgresEventStore()))
                .extracting(AbstractJdbcEventStore::name)
                .containsExactly("h2", "mysql", "postgresql");
        assertThat(EventStatus.values()).extracting(EventStatus::code).containsExactly(0, 1, 2, 3);
        assertThat(JsonCodec.parseObject(JsonCodec.toJson(Map.of("k", "v")))).isEqualTo(Map.of("k", "v"));
    }

    @Test
    void registries_trackers_policies_and_interceptors() throws Exception {
        DefaultListenerRegistry registry = new DefaultListenerRegistry();
        EventListener listener = event -> {};
        registry.register("UserCreated", listener);
        registry.register("Order", "OrderPlaced", listener);
        registry.register(Aggregates.USER, UserEvents.USER_CREATED, listener);
        ListenerRegistry found = registry;
        InFlightTracker tracker = new DefaultInFlightTracker();
        RetryPolicy policy = new ExponentialBackoffRetryPolicy(200, 60_000);
        List<String> seen = new ArrayList<>();
        EventInterceptor both = new EventInterceptor() {
            @Override
            public void beforeDispatch(EventEnvelope event) throws Exception {
                seen.add("before");
            }

            @Override
            public void afterDispatch(EventEnvelope event, Exception error) {
                seen.add("after");
            }
        };
        both.beforeDispatch(EventEnvelope.ofJson("T", "{}"));
        both.afterDispatch(EventEnvelope.ofJson("T", "{}"), new IllegalStateException());
        EventInterceptor.before(event -> seen.add("before")).beforeDispatch(EventEnvelope.ofJson("T", "{}"));
        EventInterceptor.after((event, error) -> seen.add("after"))
                .afterDispatch(EventEnvelope.ofJson("T", "{}"), new IllegalStateException());

        assertThat(found.listenerFor("Order", "OrderPlaced")).isSameAs(listener);
        assertThat(found.listenerFor("__GLOBAL__", "UserCreated")).isSameAs(listener);
        assertThat(found.listenerFor("USER", "USER_CREATED")).isSameAs(listener);
        assertThat(found.listenerFor("Order", "Other")).isNull();
        assertThatIllegalStateException().isThrownBy(() -> registry.register("UserCreated", listener));
        assertThat(tracker.tryAcquire("1")).isTrue();
        assertThat(tracker.tryAcquire("1")).isFalse();
        tracker.release("1");
        assertThat(new DefaultInFlightTracker(1000).tryAcquire("1")).isTrue();
        assertThat(policy.computeDelayMs(1)).isBetween(100L, 300L);
        assertThat(seen).containsExactly("before", "after", "before", "after");
        assertThat(UnroutableEventException.class).isAssignableTo(RuntimeException.class);
    }

    @Test
    void dispatchers_and_pollers() {
        JdbcDataSource database = tables("engine");
        EventStore store = JdbcEventStores.detect(database);
        ConnectionProvider connections = database::getConnection;
        RetryPolicy policy = attempts -> 1;
        try (OutboxDispatcher dispatcher = OutboxDispatcher.builder()
                        .connectionProvider(connections)
                        .eventStore(store)
                        .listenerRegistry((aggregateType, eventType) -> event -> {})
                        .retryPolicy(policy)
                        .metrics(MetricsExporter.NOOP)
                        .build();
                OutboxPoller poller = OutboxPoller.builder()
                        .connectionProvider(connections)
                        .eventStore(store)
                        .handler((event, attempts) -> true)
                        .skipRecent(Duration.ofSeconds(1))
                        .batchSize(50)
                        .intervalMs(5000)
                        .metrics(MetricsExporter.NOOP)
                        .ownerId("poller-1")
                        .lockTimeout(Duration.ofMinutes(5))
                        .build()) {
            EventEnvelope event = EventEnvelope.ofJson("T", "{}");
            QueuedEvent hot = new QueuedEvent(event, QueuedEvent.Source.HOT, 0);

            assertThat(hot.envelope()).isSameAs(event);
            assertThat(hot.source()).isEqualTo(QueuedEvent.Source.HOT);
            assertThat(hot.attempts()).isZero();
            assertThat(dispatcher.hasColdQueueCapacity()).isTrue();
            assertThat(dispatcher.enqueueHot(hot)).isTrue();
            assertThat(dispatcher.enqueueCold(
                            new QueuedEvent(EventEnvelope.ofJson("T", "{}"), QueuedEvent.Source.COLD, 1)))
                    .isTrue();
            poller.poll();
            poller.start();
        }
    }

    @Test
    void the_imports_of_either_text_compile_and_work_the_same() {
        assertThat(new EnglishImports().deliver(tables("english")::getConnection, new H2EventStore()))
                .containsExactly("committed", "polled");
        assertThat(new ChineseImports().deliver(tables("chinese")::getConnection, new H2EventStore()))
                .containsExactly("committed", "polled");
    }

    private static JdbcDataSource tables(String name) {
        JdbcDataSource database = database(name);
        OutboxSchema.create(database, new H2EventStore());
        return database;
    }
}
