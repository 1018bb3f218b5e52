package outbox.jackson;

import com.fasterxml.jackson.databind.JsonNode;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.admin.EventDetails;
import outbox.admin.OutboxAdmin;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.jdbc.DataSourceConnectionProvider;
import outbox.jdbc.H2EventStore;
import outbox.jdbc.JdbcTransactionManager;
import outbox.jdbc.OutboxSchema;
import outbox.jdbc.ThreadLocalTxContext;
import outbox.model.EventStatus;
import outbox.payload.PayloadTypes;
import outbox.poller.OutboxPoller;
import outbox.registry.DefaultListenerRegistry;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;

/** What older and newer nodes wrote into the table, as this node delivers it. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class UpcastTest {

    record OrderV2(String id, int cents) {}

    record Order(String id, int cents, String currency) {}

    private final JdbcDataSource dataSource = new JdbcDataSource();
    private final H2EventStore store = new H2EventStore();
    private final ThreadLocalTxContext tx = new ThreadLocalTxContext();
    private final BlockingQueue<Order> delivered = new LinkedBlockingQueue<>();
    private final PayloadTypes types = PayloadTypes.builder(new JacksonPayloadCodec())
            .type("OrderPlaced", 3, Order.class)
            .upcast("OrderPlaced", 2, OrderV2.class, old -> new Order(old.id(), old.cents(), "EUR"))
            .upcast(
                    "OrderPlaced",
                    1,
                    JsonNode.class,
                    old -> new OrderV2(
                            old.get("order").asText(), old.get("euros").asInt() * 100))
            .build();
    private final OutboxWriter writer = new OutboxWriter(tx, store);

    @BeforeEach
    void createTable() {
        dataSource.setURL("jdbc:h2:mem:upcast" + System.nanoTime() + ";DB_CLOSE_DELAY=-1");
        OutboxSchema.create(dataSource, store);
    }

    @AfterEach
    void dropDatabase() throws Exception {
        try (var connection = dataSource.getConnection();
                var statement = connection.createStatement()) {
            statement.execute("SHUTDOWN");
        }
    }

    @Test
    void an_old_version_in_the_table_is_delivered_as_the_current_one() throws Exception {
        write(EventEnvelope.builder("OrderPlaced")
                .payloadJson("{\"order\":\"1\",\"euros\":5}")
                .build());
        write(EventEnvelope.builder("OrderPlaced")
                .schemaVersion(2)
                .payloadJson("{\"id\":\"2\",\"cents\":7}")
                .build());
        write(types.event("OrderPlaced", new Order("3", 9, "CHF")).build());

        try (OutboxDispatcher dispatcher = dispatcher();
                OutboxPoller poller = poller(dispatcher)) {
            poller.poll();

            assertThat(new Order[] {next(), next(), next()})
                    .containsExactlyInAnyOrder(
                            new Order("1", 500, "EUR"), new Order("2", 7, "EUR"), new Order("3", 9, "CHF"));
        }
    }

    private Order next() throws InterruptedException {
        Order order = delivered.poll(20, TimeUnit.SECONDS);
        assertThat(order).isNotNull();
        return order;
    }

    @Test
    void a_version_that_this_node_does_not_know_yet_waits_for_one_that_does_and_no_attempt_is_burned()
            throws Exception {
        String id = write(EventEnvelope.builder("OrderPlaced")
                .schemaVersion(4)
                .payloadJson("{}")
                .build());

        EventDetails row = afterOnePoll(id);

        assertThat(row.summary().status()).contains(EventStatus.RETRY);
        assertThat(row.summary().attempts()).isZero();
        assertThat(row.lastError()).contains("has version 4", "this node knows 3");
    }

    @Test
    void a_version_that_no_node_knew_for_too_long_is_dead() throws Exception {
        String id = write(EventEnvelope.builder("OrderPlaced")
                .schemaVersion(4)
                .occurredAt(Instant.now().minus(Duration.ofHours(2)))
                .payloadJson("{}")
                .build());

        EventDetails row = afterOnePoll(id);

        assertThat(row.summary().status()).contains(EventStatus.DEAD);
        assertThat(row.lastError()).contains("replay it");
    }

    @Test
    void a_payload_that_is_not_of_its_form_is_dead_at_once_and_not_quoted() throws Exception {
        String id = write(EventEnvelope.builder("OrderPlaced")
                .schemaVersion(3)
                .payloadJson("{\"cents\":\"secret\"}")
                .build());

        EventDetails row = afterOnePoll(id);

        assertThat(row.summary().status()).contains(EventStatus.DEAD);
        assertThat(row.lastError()).contains("version 3").doesNotContain("secret");
    }

    private String write(EventEnvelope event) {
        try (var transaction = new JdbcTransactionManager(new DataSourceConnectionProvider(dataSource), tx).begin()) {
            String id = writer.write(event);
            transaction.commit();
            return id;
        }
    }

    /** Closing waits for the run and its mark. */
    private EventDetails afterOnePoll(String id) {
        try (OutboxDispatcher dispatcher = dispatcher();
                OutboxPoller poller = poller(dispatcher)) {
            poller.poll();
        }
        return new OutboxAdmin(dataSource::getConnection, store).find(id).orElseThrow();
    }

    private OutboxDispatcher dispatcher() {
        return OutboxDispatcher.builder()
                .connectionProvider(dataSource::getConnection)
                .eventStore(store)
                .listenerRegistry(new DefaultListenerRegistry()
                        .register(
                                "OrderPlaced",
                                types.listener("OrderPlaced", Order.class, (order, event) -> delivered.add(order))))
                .build();
    }

    private OutboxPoller poller(OutboxDispatcher dispatcher) {
        return OutboxPoller.builder()
                .connectionProvider(dataSource::getConnection)
                .eventStore(store)
                .handler(new DispatcherPollerHandler(dispatcher))
                .build();
    }
}
