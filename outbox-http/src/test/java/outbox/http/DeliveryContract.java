package outbox.http;

import com.sun.net.httpserver.HttpExchange;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
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

import java.net.URI;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.stream.IntStream;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** Sends events through the whole engine, on the hot and the cold path, to a real server. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class DeliveryContract {

    private static final Duration SECONDS = Duration.ofSeconds(30);
    private static final WebhookSecret SECRET = WebhookSecret.of(new byte[32]);

    private final ThreadLocalTxContext txContext = new ThreadLocalTxContext();
    private final List<AutoCloseable> open = new ArrayList<>();
    private Receiver receiver = new Receiver();
    private StoreFixture db;
    private JdbcTransactionManager transactions;

    abstract String newDatabase();

    @BeforeEach
    void createTable() {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(newDatabase());
        HikariDataSource pool = new HikariDataSource(config);
        open.add(pool);
        AbstractJdbcEventStore store = JdbcEventStores.detect(pool);
        OutboxSchema.create(pool, store);
        db = new StoreFixture(pool, store, AbstractJdbcEventStore.DEFAULT_TABLE, false);
        transactions = new JdbcTransactionManager(new DataSourceConnectionProvider(pool), txContext);
    }

    @AfterEach
    void closeAll() throws Exception {
        for (int i = open.size() - 1; i >= 0; i--) {
            open.get(i).close();
        }
        receiver.close();
    }

    private HttpTransport.Builder transport() {
        return HttpTransport.named("crm").endpoint(receiver.uri()).source(URI.create("/shop"));
    }

    /** Starts a node that sends all events to the transport. */
    private OutboxDispatcher start(HttpTransport.Builder settings, Consumer<OutboxDispatcher.Builder> more) {
        HttpTransport transport = settings.build();
        OutboxDispatcher.Builder builder = OutboxDispatcher.builder()
                .connectionProvider(new DataSourceConnectionProvider(db.dataSource()))
                .eventStore(db.store())
                .listenerRegistry((aggregateType, eventType) -> transport)
                .retryPolicy(attempts -> 0);
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
        poller.start();
        return dispatcher;
    }

    private String write(OutboxWriter writer) {
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            String id = writer.write(EventEnvelope.ofJson("OrderPlaced", "{\"id\":1}"));
            tx.commit();
            return requireNonNull(id);
        }
    }

    private OutboxWriter cold() {
        return new OutboxWriter(txContext, db.store());
    }

    private OutboxWriter hot(OutboxDispatcher dispatcher) {
        return new OutboxWriter(txContext, db.store(), new DispatcherCommitHook(dispatcher));
    }

    private Row awaitStatus(String eventId, EventStatus status) {
        await().atMost(SECONDS).until(() -> db.row(eventId).status() == status);
        return db.row(eventId);
    }

    @Test
    void hundreds_of_events_arrive_once_each_and_signed() {
        OutboxDispatcher dispatcher = start(transport().signWith(SECRET), settings -> {});

        List<String> ids = IntStream.range(0, 300)
                .mapToObj(i -> write(i % 2 == 0 ? hot(dispatcher) : cold()))
                .toList();

        await().atMost(SECONDS).until(() -> db.count("status = 1") == 300);
        assertThat(receiver.received)
                .extracting(got -> got.header("idempotency-key"))
                .containsExactlyInAnyOrderElementsOf(ids);
        assertThat(receiver.received)
                .allMatch(got -> WebhookVerifier.of(SECRET)
                        .isGenuine(
                                got.header("webhook-id"),
                                got.header("webhook-timestamp"),
                                got.header("webhook-signature"),
                                got.body()));
    }

    @Test
    void a_server_error_costs_an_attempt_and_the_next_one_delivers() {
        receiver.reaction = first(Receiver.answer(500, "oops"));
        OutboxDispatcher dispatcher = start(transport(), settings -> {});

        String hot = write(hot(dispatcher));

        Row row = awaitStatus(hot, EventStatus.DONE);
        assertThat(row.attempts()).isEqualTo(1);
        assertThat(receiver.received).hasSize(2);
    }

    @Test
    void a_busy_server_costs_no_attempt() {
        receiver.reaction = first(Receiver.answer(503, "deploying", "Retry-After", "1"));
        start(transport(), settings -> settings.maxAttempts(1));

        String id = write(cold());

        Row row = awaitStatus(id, EventStatus.DONE);
        assertThat(row.attempts()).isZero();
        assertThat(receiver.received).hasSize(2);
    }

    private static Receiver.Reaction first(Receiver.Reaction other) {
        AtomicInteger calls = new AtomicInteger();
        return exchange -> (calls.getAndIncrement() == 0 ? other : Receiver.status(200)).to(exchange);
    }

    @Test
    void a_refused_event_is_dead_at_once_with_the_reason() {
        receiver.reaction = Receiver.answer(400, "unknown product 7");
        OutboxDispatcher dispatcher = start(transport(), settings -> settings.maxAttempts(10));

        String id = write(hot(dispatcher));

        Row row = awaitStatus(id, EventStatus.DEAD);
        assertThat(row.attempts()).isEqualTo(1);
        assertThat(row.lastError())
                .contains(" answered 400 to event " + id)
                .endsWith(": unknown product 7")
                .doesNotContain("{\"id\":1}");
        assertThat(receiver.received).hasSize(1);
    }

    @Test
    void an_expired_token_costs_no_attempt_and_everything_arrives_once_it_is_renewed() {
        AtomicReference<String> token = new AtomicReference<>("Bearer old");
        receiver.reaction =
                exchange -> ("Bearer new".equals(exchange.getRequestHeaders().getFirst("Authorization"))
                                ? Receiver.status(200)
                                : Receiver.answer(401, "expired"))
                        .to(exchange);
        CircuitBreaker breaker =
                CircuitBreaker.named("crm").wait(Duration.ofMillis(500)).build();
        for (int i = 0; i < 200; i++) {
            write(cold());
        }
        start(
                transport().authorization(token::get).breaker(breaker),
                dispatching -> dispatching
                        .maxAttempts(1)
                        .protection(Protection.builder()
                                .breakerForListener("crm", breaker)
                                .build()));
        await().atMost(SECONDS).until(() -> breaker.state() == CircuitBreaker.State.OPEN);
        int first = receiver.received.size();
        await().atMost(SECONDS).until(() -> receiver.received.size() > first + 2); // probes
        assertThat(db.count("status IN (1, 3) OR attempts > 0")).isZero();

        token.set("Bearer new");

        await().atMost(SECONDS).until(() -> db.count("status = 1") == 200);
        assertThat(db.count("attempts > 0")).isZero();
    }

    @Test
    void an_expired_token_costs_no_attempt_without_a_breaker_either() {
        receiver.reaction = Receiver.answer(401, "expired");
        for (int i = 0; i < 20; i++) {
            write(cold());
        }
        // With this clock the outage does not get older, so the waits of the events do not grow.
        Clock stopped = Clock.fixed(Instant.EPOCH, ZoneOffset.UTC);
        start(transport().clock(stopped), dispatching -> dispatching.maxAttempts(1));
        await().atMost(SECONDS).until(() -> receiver.received.size() > 40); // each more than once
        assertThat(db.count("status IN (1, 3) OR attempts > 0")).isZero();

        receiver.reaction = Receiver.status(200);

        await().atMost(SECONDS).until(() -> db.count("status = 1") == 20);
        assertThat(db.count("attempts > 0")).isZero();
    }

    @Test
    void a_server_that_is_down_burns_the_attempts_of_its_events_without_a_breaker() {
        receiver.close();
        OutboxDispatcher dispatcher = start(transport(), settings -> settings.maxAttempts(3));

        String id = write(hot(dispatcher));

        Row row = awaitStatus(id, EventStatus.DEAD);
        assertThat(row.attempts()).isEqualTo(3);
        assertThat(row.lastError()).contains("java.net.ConnectException", "cannot be reached");
    }

    @Test
    void a_server_that_is_down_costs_nothing_with_a_breaker_and_gets_everything_when_it_is_back() {
        int port = receiver.port();
        HttpTransport.Builder settings = transport();
        receiver.close();
        CircuitBreaker breaker =
                CircuitBreaker.named("crm").wait(Duration.ofMillis(500)).build();
        OutboxDispatcher dispatcher = start(
                settings.breaker(breaker),
                dispatching -> dispatching
                        .maxAttempts(1)
                        .protection(Protection.builder()
                                .breakerForListener("crm", breaker)
                                .build()));
        for (int i = 0; i < 50; i++) {
            write(i % 2 == 0 ? hot(dispatcher) : cold());
        }
        await().atMost(SECONDS).until(() -> breaker.state() == CircuitBreaker.State.OPEN);
        await().pollDelay(Duration.ofSeconds(2)).until(() -> true); // some probes
        assertThat(db.count("status IN (1, 3) OR attempts > 0")).isZero();

        receiver = new Receiver(port);

        await().atMost(SECONDS).until(() -> db.count("status = 1") == 50);
        assertThat(db.count("attempts > 0")).isZero();
    }

    @Test
    void what_is_in_flight_when_the_node_closes_is_left_to_its_lease() throws Exception {
        BlockingQueue<HttpExchange> held = new LinkedBlockingQueue<>();
        receiver.reaction = held::add;
        OutboxDispatcher dispatcher = start(transport(), settings -> settings.drainTimeoutMs(200));
        String id = write(hot(dispatcher));
        requireNonNull(held.poll(10, TimeUnit.SECONDS));

        open.remove(open.size() - 1).close(); // the poller
        dispatcher.close();

        Row row = db.row(id);
        assertThat(row.status()).isEqualTo(EventStatus.NEW);
        assertThat(row.attempts()).isZero();
        assertThat(row.lockedBy()).isNotNull(); // the request may still arrive, so no other node sends the event yet
    }
}
