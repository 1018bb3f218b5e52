package outbox.rabbitmq;

import com.rabbitmq.client.BuiltinExchangeType;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.dispatch.CircuitBreaker;
import outbox.dispatch.DispatcherCommitHook;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.Protection;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.DataSourceConnectionProvider;
import outbox.jdbc.JdbcEventStores;
import outbox.jdbc.JdbcTransactionManager;
import outbox.jdbc.OutboxSchema;
import outbox.jdbc.ThreadLocalTxContext;
import outbox.model.EventStatus;
import outbox.poller.OutboxPoller;
import outbox.testing.contract.StoreFixture;
import outbox.testing.contract.StoreFixture.Row;
import outbox.testing.fault.FaultProxy;
import outbox.testing.server.PostgresServer;
import outbox.testing.server.RabbitServer;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** Sends events through the whole engine to a real node that fails in several ways. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("rabbitmq")
class OutboxToRabbitTest {
    private static final Duration MINUTE = Duration.ofMinutes(1);
    private static final Duration TRUTH = Duration.ofSeconds(5); // health must show a change within this time
    private static final Duration ALARM = Duration.ofSeconds(Integer.getInteger("outbox.rabbitmq.alarmSeconds", 30));
    private static final int LARGE = Integer.getInteger("outbox.rabbitmq.batch", 2_000);

    @AutoClose
    private RabbitServer node;

    private final ThreadLocalTxContext txContext = new ThreadLocalTxContext();
    private final List<AutoCloseable> open = new ArrayList<>();
    private StoreFixture db;
    private JdbcTransactionManager transactions;
    private @Nullable OutboxWriter writer;

    @BeforeAll
    void startNode() {
        node = RabbitServer.start();
    }

    @BeforeEach
    void createTable() {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(PostgresServer.shared().createDatabase());
        HikariDataSource pool = new HikariDataSource(config);
        open.add(pool);
        AbstractJdbcEventStore store = JdbcEventStores.detect(pool);
        OutboxSchema.create(pool, store);
        db = new StoreFixture(pool, store, AbstractJdbcEventStore.DEFAULT_TABLE, false);
        transactions = new JdbcTransactionManager(new DataSourceConnectionProvider(pool), txContext);
        writer = new OutboxWriter(txContext, store);
    }

    @AfterEach
    void closeAll() throws Exception {
        for (int i = open.size() - 1; i >= 0; i--) {
            open.get(i).close();
        }
        open.clear();
    }

    private static RabbitRoute routeOf(EventEnvelope event) {
        String[] names = event.eventType().split("/", 2);
        return new RabbitRoute(names[0], names[1]);
    }

    /** Starts a node that sends all events to the transport. */
    private void start(RabbitTransport transport, Consumer<OutboxDispatcher.Builder> more) {
        OutboxDispatcher.Builder builder = OutboxDispatcher.builder()
                .connectionProvider(new DataSourceConnectionProvider(db.dataSource()))
                .eventStore(db.store())
                .listenerRegistry((aggregateType, eventType) -> transport);
        more.accept(builder);
        OutboxDispatcher dispatcher = builder.build();
        OutboxPoller poller = OutboxPoller.builder()
                .connectionProvider(new DataSourceConnectionProvider(db.dataSource()))
                .eventStore(db.store())
                .handler(new DispatcherPollerHandler(dispatcher))
                .intervalMs(50)
                .build();
        open.add(transport); // closed last
        open.add(dispatcher);
        open.add(poller);
        writer = new OutboxWriter(txContext, db.store(), new DispatcherCommitHook(dispatcher));
        poller.start();
    }

    private static CircuitBreaker breaker() {
        return CircuitBreaker.named("rabbit")
                .wait(Duration.ofMillis(500))
                .ignore(PublishRefusedException.class)
                .build();
    }

    private String write(String type) {
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            String id = Objects.requireNonNull(writer).write(EventEnvelope.ofJson(type, "{\"n\":1}"));
            tx.commit();
            return requireNonNull(id);
        }
    }

    /** Writes events one by one until it is closed. */
    private final class Load implements AutoCloseable {
        final Map<String, String> typeById = new ConcurrentHashMap<>();
        private final AtomicBoolean over = new AtomicBoolean();
        private volatile long slowestNanos;
        private final CompletableFuture<Void> writing;

        Load(List<String> types, int atLeast, long everyMicros) {
            writing = CompletableFuture.runAsync(() -> {
                for (int i = 0; i < atLeast || !over.get(); i++) {
                    String type = types.get(i % types.size());
                    long begin = System.nanoTime();
                    typeById.put(write(type), type);
                    slowestNanos = Math.max(slowestNanos, System.nanoTime() - begin);
                    LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(everyMicros));
                }
            });
        }

        Set<String> idsOf(String type) {
            Set<String> ids = new HashSet<>();
            typeById.forEach((id, itsType) -> {
                if (itsType.equals(type)) {
                    ids.add(id);
                }
            });
            return ids;
        }

        @Override
        public void close() {
            over.set(true);
            writing.orTimeout(1, TimeUnit.MINUTES).join();
        }
    }

    @Test
    void single_bad_events_in_a_large_batch_end_dead_with_their_own_reason_and_all_neighbours_are_done()
            throws Exception {
        Rabbit rabbit = new Rabbit(node);
        rabbit.topology(RabbitTopology.builder()
                .topicExchange("orders")
                .queue(RabbitQueue.named("placed"))
                .bind("placed", "orders", "placed")
                .queue(RabbitQueue.named("full").refuseBeyond(0))
                .bind("full", "orders", "full")
                .build());
        FaultProxy proxy = FaultProxy.to(node.port());
        open.add(proxy);
        var factory = rabbit.factory();
        factory.setPort(proxy.port());
        CircuitBreaker breaker = breaker();
        RabbitTransport transport = RabbitTransport.builder()
                .connectionFactory(factory)
                .route(OutboxToRabbitTest::routeOf)
                .breaker(breaker)
                .build();
        start(
                transport,
                settings -> settings.maxAttempts(2)
                        .retryPolicy(attempts -> 100)
                        .protection(Protection.builder()
                                .breakerForListener("rabbitmq", breaker)
                                .build()));
        List<String> types = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            types.add(i == 20 ? "orders/lost" : i == 50 ? "nowhere/placed" : i == 80 ? "orders/full" : "orders/placed");
        }

        Load load = new Load(types, LARGE, 200);
        try (load) {
            await().atMost(MINUTE).until(() -> db.count("status = 1") > LARGE / 10);
            proxy.cutAll();
            await().atMost(MINUTE).until(() -> db.count("status = 1") > LARGE / 5);
            node.closeConnections(rabbit.virtualHost());
        }

        await().atMost(MINUTE).until(() -> db.count("status IN (0, 2)") == 0);
        Set<String> good = load.idsOf("orders/placed");
        assertThat(good.size()).isGreaterThanOrEqualTo(LARGE * 97 / 100);
        assertThat(db.count("status = 1 AND attempts = 0")).isEqualTo(good.size());
        assertThat(new HashSet<>(rabbit.drainIds("placed"))).isEqualTo(good);
        assertDead(load.idsOf("orders/lost"), "NO_ROUTE");
        assertDead(load.idsOf("nowhere/placed"), "there is no exchange 'nowhere'");
        assertDead(load.idsOf("orders/full"), "nacked");
    }

    private void assertDead(Set<String> ids, String reason) {
        assertThat(ids).isNotEmpty().allSatisfy(id -> {
            Row row = db.row(id);
            assertThat(row.status()).isEqualTo(EventStatus.DEAD);
            assertThat(row.attempts()).isEqualTo(2);
            assertThat(row.lastError()).contains(id, reason);
        });
    }

    @Test
    void a_close_during_an_alarm_releases_all_that_was_not_sent() throws Exception {
        Rabbit rabbit = new Rabbit(node);
        rabbit.topology(
                RabbitTopology.builder().queue(RabbitQueue.named("alarmed")).build());
        RabbitTransport transport = RabbitTransport.builder()
                .connectionFactory(rabbit.factory())
                .route(event -> new RabbitRoute("", "alarmed"))
                .build();
        start(transport, settings -> settings.drainTimeoutMs(100));
        node.raiseMemoryAlarm();
        try {
            String sent = write("first"); // the broker reports the alarm only to connections that publish
            await().atMost(TRUTH).until(() -> transport.health().blocked() != null);
            try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
                for (int i = 0; i < 20; i++) {
                    requireNonNull(writer).write(EventEnvelope.ofJson("next", "{}"));
                }
                tx.commit();
            }
            await().pollInterval(Duration.ofMillis(5))
                    .atMost(TRUTH)
                    .until(() -> transport.health().inFlight() == 21);

            closeNode();

            assertThat(db.row(sent).lockedBy()).isNotNull(); // it may arrive after the alarm ends
            assertThat(db.count("status = 0 AND attempts = 0 AND locked_by IS NULL"))
                    .isEqualTo(20);
        } finally {
            node.clearMemoryAlarm();
        }
        try (Connection connection = rabbit.factory().newConnection();
                Channel channel = connection.createChannel()) {
            assertThat(channel.messageCount("alarmed")).isLessThanOrEqualTo(1); // withdrawn events were never sent
        }
    }

    /** Closes poller and dispatcher, but not the transport. */
    private void closeNode() throws Exception {
        open.remove(open.size() - 1).close();
        open.remove(open.size() - 1).close();
    }

    @Test
    void a_broker_that_is_killed_raises_an_alarm_and_closes_channels_under_load_loses_nothing() throws Exception {
        Rabbit rabbit = new Rabbit(node);
        rabbit.topology(RabbitTopology.builder()
                .topicExchange("orders")
                .queue(RabbitQueue.named("placed"))
                .bind("placed", "orders", "placed")
                .queue(RabbitQueue.named("side"))
                .build());
        declareSide(rabbit);
        CircuitBreaker breaker = breaker();
        RabbitTransport transport = RabbitTransport.builder()
                .connectionFactory(rabbit.factory())
                .route(OutboxToRabbitTest::routeOf)
                .channels(2)
                .confirmTimeout(ALARM.dividedBy(3))
                .breaker(breaker)
                .build();
        start(
                transport,
                settings -> settings.maxAttempts(1_000)
                        .retryPolicy(attempts -> 100)
                        .protection(Protection.builder()
                                .breakerForListener("rabbitmq", breaker)
                                .build()));

        Load load = new Load(List.of("orders/placed", "orders/placed", "orders/placed", "side/"), 1_000, 4_000);
        long threads;
        try (load) {
            await().atMost(MINUTE).until(() -> db.count("status = 1") > 200);
            threads = threads();

            node.kill();
            await().atMost(TRUTH).until(() -> !transport.health().connected());
            node.restart();
            await().atMost(TRUTH).until(() -> transport.health().isUp());
            awaitProgress();

            node.raiseMemoryAlarm();
            await().atMost(TRUTH).until(() -> transport.health().blocked() != null);
            int written = load.typeById.size();
            long end = System.nanoTime() + ALARM.toNanos();
            await().atMost(MINUTE.plus(ALARM)).until(() -> System.nanoTime() - end > 0);
            assertThat(transport.health().isUp()).isFalse();
            assertThat(load.typeById.size()).isGreaterThan(written + 100); // the broker does not stop commits
            node.clearMemoryAlarm();
            await().atMost(TRUTH).until(() -> transport.health().isUp());
            awaitProgress();

            for (int i = 0; i < 5; i++) {
                rabbit.call(channel -> channel.exchangeDelete("side"));
                declareSide(rabbit);
                awaitProgress();
            }
        }

        await().atMost(MINUTE).until(() -> db.count("status <> 1") == 0);
        assertThat(db.count("attempts > 0 AND event_type = 'orders/placed'")).isZero();
        assertThat(new HashSet<>(rabbit.drainIds("placed"))).isEqualTo(load.idsOf("orders/placed"));
        assertThat(new HashSet<>(rabbit.drainIds("side"))).isEqualTo(load.idsOf("side/"));
        assertThat(Duration.ofNanos(load.slowestNanos)).isLessThan(ALARM);
        await().atMost(MINUTE).untilAsserted(() -> assertThat(threads()).isLessThanOrEqualTo(threads));
    }

    private static void declareSide(Rabbit rabbit) {
        rabbit.call(channel -> {
            channel.exchangeDeclare("side", BuiltinExchangeType.FANOUT, true);
            return channel.queueBind("side", "side", "");
        });
    }

    private void awaitProgress() {
        long before = db.count("status = 1");
        await().atMost(MINUTE).until(() -> db.count("status = 1") > before + 50);
    }

    private static long threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("outbox-")
                        || thread.getName().startsWith("AMQP")
                        || thread.getName().startsWith("pool-"))
                .count();
    }
}
