package outbox.jdbc;

import com.fasterxml.jackson.databind.JsonNode;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.EventRef;
import outbox.OutboxWriter;
import outbox.admin.AdminRequest;
import outbox.admin.EventDetails;
import outbox.admin.OutboxAdmin;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.jackson.JacksonPayloadCodec;
import outbox.model.EventStatus;
import outbox.payload.PayloadTypes;
import outbox.poller.OutboxPoller;
import outbox.registry.DefaultListenerRegistry;
import outbox.spi.ConnectionProvider;
import outbox.spi.LeasingEventStore;
import outbox.testing.contract.StoreFixture;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import static org.assertj.core.api.Assertions.assertThat;

/** Events that older and newer nodes wrote, and how this node delivers them. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class UpcastContract {

    record OrderV2(String id, int cents) {}

    record Order(String id, int cents, String currency) {}

    /** A store and the connections to it. */
    record Place(ConnectionProvider connections, LeasingEventStore store) {

        static Place in(Databases database) {
            StoreFixture db = database.fixture();
            return new Place(db.dataSource()::getConnection, db.store());
        }
    }

    private final ThreadLocalTxContext tx = new ThreadLocalTxContext();
    private final BlockingQueue<Order> delivered = new LinkedBlockingQueue<>();
    private Place place;

    /** Returns a new, empty store, which may join the transactions. */
    abstract Place createPlace(ThreadLocalTxContext tx);

    @BeforeEach
    void createPlace() {
        place = createPlace(tx);
    }

    private static PayloadTypes types(Duration newerLimit) {
        return PayloadTypes.builder(new JacksonPayloadCodec())
                .type("OrderPlaced", 3, Order.class)
                .upcast("OrderPlaced", 2, OrderV2.class, old -> new Order(old.id(), old.cents(), "EUR"))
                .upcast(
                        "OrderPlaced",
                        1,
                        JsonNode.class,
                        old -> new OrderV2(
                                old.get("order").asText(), old.get("euros").asInt() * 100))
                .newerLimit(newerLimit)
                .build();
    }

    private final PayloadTypes types = types(Duration.ofHours(1));

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

        try (OutboxDispatcher dispatcher = dispatcher(types);
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
    void a_version_that_this_node_does_not_know_yet_waits_for_one_that_does_and_no_attempt_is_burned() {
        String id = write(EventEnvelope.builder("OrderPlaced")
                .schemaVersion(4)
                .occurredAt(Instant.now().minus(Duration.ofDays(30)))
                .payloadJson("{\"id\":\"4\",\"cents\":1,\"currency\":\"EUR\"}")
                .build());

        EventDetails row = afterOnePoll(id, types);

        assertThat(row.summary().status()).contains(EventStatus.RETRY);
        assertThat(row.summary().attempts()).isZero();
        assertThat(row.lastError()).contains("has version 4", "this node knows 3");

        makeDue(id);
        PayloadTypes newer = PayloadTypes.builder(new JacksonPayloadCodec())
                .type("OrderPlaced", 4, Order.class)
                .build();
        assertThat(afterOnePoll(id, newer).summary().status()).contains(EventStatus.DONE);
        assertThat(delivered).containsExactly(new Order("4", 1, "EUR"));
    }

    @Test
    void a_version_that_no_node_knew_for_too_long_is_dead_and_waits_again_after_a_replay() {
        String id = write(EventEnvelope.builder("OrderPlaced")
                .schemaVersion(4)
                .payloadJson("{}")
                .build());
        PayloadTypes impatient = types(Duration.ofNanos(1));

        assertThat(afterOnePoll(id, impatient).summary().status()).contains(EventStatus.RETRY);
        makeDue(id);
        EventDetails dead = afterOnePoll(id, impatient);
        assertThat(dead.summary().status()).contains(EventStatus.DEAD);
        assertThat(dead.lastError()).contains("replay it");

        AdminRequest again = AdminRequest.builder()
                .eventIds(List.of(id))
                .actor("test")
                .reason("deployed")
                .confirmed(true)
                .build();
        assertThat(new OutboxAdmin(place.connections(), place.store())
                        .replay(again)
                        .affected())
                .isEqualTo(1);
        assertThat(afterOnePoll(id, impatient).summary().status()).contains(EventStatus.RETRY);
    }

    @Test
    void a_payload_that_is_not_of_its_form_is_dead_at_once_and_not_quoted() {
        String id = write(EventEnvelope.builder("OrderPlaced")
                .schemaVersion(3)
                .payloadJson("{\"cents\":\"secret\"}")
                .build());

        EventDetails row = afterOnePoll(id, types);

        assertThat(row.summary().status()).contains(EventStatus.DEAD);
        assertThat(row.lastError()).contains("version 3").doesNotContain("secret");
    }

    private String write(EventEnvelope event) {
        return inTransaction(() -> writer().write(event));
    }

    private void makeDue(String id) {
        inTransaction(() -> writer().reschedule(EventRef.id(id), Instant.now().minusSeconds(1)));
    }

    private OutboxWriter writer() {
        return new OutboxWriter(tx, place.store());
    }

    private <T> T inTransaction(Supplier<T> work) {
        try (var transaction = new JdbcTransactionManager(place.connections(), tx).begin()) {
            T answer = work.get();
            transaction.commit();
            return answer;
        }
    }

    /** Closing waits for the run and its mark. */
    private EventDetails afterOnePoll(String id, PayloadTypes known) {
        try (OutboxDispatcher dispatcher = dispatcher(known);
                OutboxPoller poller = poller(dispatcher)) {
            poller.poll();
        }
        return new OutboxAdmin(place.connections(), place.store()).find(id).orElseThrow();
    }

    private OutboxDispatcher dispatcher(PayloadTypes known) {
        return OutboxDispatcher.builder()
                .connectionProvider(place.connections())
                .eventStore(place.store())
                .listenerRegistry(new DefaultListenerRegistry()
                        .register(
                                "OrderPlaced",
                                known.listener("OrderPlaced", Order.class, (order, event) -> delivered.add(order))))
                .build();
    }

    private OutboxPoller poller(OutboxDispatcher dispatcher) {
        return OutboxPoller.builder()
                .connectionProvider(place.connections())
                .eventStore(place.store())
                .handler(new DispatcherPollerHandler(dispatcher))
                .build();
    }
}
