package outbox.testing;

import org.assertj.core.api.Assertions;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import outbox.EventEnvelope;
import outbox.memory.MemoryEventStore;
import outbox.memory.MemoryTransactions;
import outbox.payload.PayloadCodec;
import outbox.payload.PayloadException;
import outbox.registry.DefaultListenerRegistry;

import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static outbox.testing.OutboxAssertions.assertThat;

@Timeout(60)
class OutboxAssertionsTest {

    record Price(int amount) {}

    /** A payload that is a bare number. */
    private static final PayloadCodec NUMBERS = new PayloadCodec() {
        @Override
        public String write(Object value) {
            return Integer.toString(((Price) value).amount());
        }

        @Override
        public <T> T read(String payload, Class<T> type) {
            try {
                return type.cast(new Price(Integer.parseInt(payload)));
            } catch (NumberFormatException e) {
                throw new PayloadException("not a number", e);
            }
        }
    };

    private final MemoryEventStore store = MemoryEventStore.builder().build();
    private final MemoryTransactions transactions = new MemoryTransactions(store);

    @RegisterExtension
    final TestOutbox outbox = TestOutbox.builder(store, store.connections(), transactions)
            .listeners(new DefaultListenerRegistry().register("order", "order.created.v1", event -> {}))
            .payloads(NUMBERS)
            .build();

    @BeforeEach
    void write() {
        transactions.run(() -> {
            outbox.writer()
                    .write(EventEnvelope.builder("order.created.v1")
                            .aggregateType("order")
                            .aggregateId("42")
                            .header("tenant", "north")
                            .payloadJson("{\"id\":42,\"lines\":[{\"sku\":\"a\",\"n\":1}]}")
                            .build());
            outbox.writer().write("priced.v1", "7");
        });
    }

    @Test
    void json_is_compared_whatever_its_order_and_white_space() {
        assertThat(outbox)
                .wrote("order.created.v1")
                .withPayload("{ \"lines\": [ {\"n\": 1, \"sku\": \"a\"} ], \"id\": 42 }")
                .forAggregate("order", "42")
                .withHeader("tenant")
                .withHeader("tenant", "north")
                .times(1)
                .and()
                .wrote("priced.v1")
                .withPayload("7");
    }

    @Test
    void a_payload_is_compared_as_a_value_of_its_type() {
        assertThat(outbox).wrote("priced.v1").withPayload(new Price(7));
        assertThat(outbox)
                .wrote("priced.v1")
                .withPayloadSatisfying(
                        Price.class,
                        price -> Assertions.assertThat(price.amount()).isEqualTo(7));

        fails(() -> assertThat(outbox).wrote("priced.v1").withPayload(new Price(8)), "with payload Price[amount=8]");
        fails(
                () -> assertThat(outbox)
                        .wrote("priced.v1")
                        .withPayloadSatisfying(
                                Price.class,
                                price -> Assertions.assertThat(price.amount()).isEqualTo(9)),
                "expected: 9");
        fails(() -> assertThat(outbox).wrote("order.created.v1").withPayload(new Price(8)), "cannot be read as");
    }

    @Test
    void a_failure_lists_what_was_written() {
        String written =
                "order.created.v1 of order 42, NEW, payload {\"id\":42,\"lines\":[{\"sku\":\"a\",\"n\":1}]}, headers {tenant=north}";

        fails(() -> assertThat(outbox).wrote("order.paid.v1"), "an event of type order.paid.v1 to be written", written);
        fails(() -> assertThat(outbox).wrote("order.created.v1").withPayload("{}"), "with payload {}", written);
        fails(
                () -> assertThat(outbox).wrote("order.created.v1").withHeader("tenant", "south"),
                "tenant=south",
                written);
        fails(() -> assertThat(outbox).wrote("order.created.v1").withHeader("other"), "with header other", written);
        fails(() -> assertThat(outbox).wrote("order.created.v1").forAggregate("order", "1"), "for order 1", written);
        fails(() -> assertThat(outbox).wrote("order.created.v1").times(2), "2 times, but 1 were found", written);
        fails(() -> assertThat(outbox).wroteNothing(), "no event to be written", written, "priced.v1");
        fails(() -> assertThat(outbox).didNotWrite("order.created.v1"), "written of type order.created.v1", written);
        fails(() -> assertThat(outbox).delivered("order.created.v1"), "to be delivered", written);
        fails(() -> assertThat(outbox).dead("order.created.v1"), "to be dead", written);
    }

    @Test
    void all_conditions_hold_for_the_same_event() {
        transactions.run(() -> outbox.writer()
                .write(EventEnvelope.builder("order.created.v1")
                        .payloadJson("{}")
                        .build()));

        assertThat(outbox).wrote("order.created.v1").times(2);
        assertThat(outbox).wrote("order.created.v1").withPayload("{}").times(1);
        fails(
                () -> assertThat(outbox)
                        .wrote("order.created.v1")
                        .withPayload("{}")
                        .forAggregate("order", "42"),
                "for order 42");
    }

    @Test
    void outcomes_tell_who_got_the_event_and_why_not() {
        outbox.deliver();

        assertThat(outbox).delivered("order.created.v1").to("order:order.created.v1");
        assertThat(outbox).dead("priced.v1").withError("priced.v1");
        fails(() -> assertThat(outbox).pending("priced.v1"), "to be pending", "DEAD");
        fails(() -> assertThat(outbox).hasNoDead(), "no event to be dead", "priced.v1");
        fails(() -> assertThat(outbox).delivered("order.created.v1").to("mails"), "to listener mails");
        fails(() -> assertThat(outbox).dead("priced.v1").withError("timeout"), "contains 'timeout'");
    }

    @Test
    void the_assertions_of_assertj_know_the_outbox() {
        Assertions.assertThat(outbox).wrote("priced.v1");
    }

    @Test
    void a_wrong_expectation_is_the_tests_fault() {
        assertThatThrownBy(() -> assertThat(outbox).wrote("priced.v1").withPayload("{"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("Not JSON: {");
        assertThatThrownBy(
                        () -> assertThat(TestOutbox.inMemory()).wroteNothing().wrote("priced.v1"))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("nothing");
    }

    private static void fails(ThrowingCallable assertion, String... parts) {
        assertThatThrownBy(assertion).isInstanceOf(AssertionError.class).hasMessageContainingAll(parts);
    }
}
