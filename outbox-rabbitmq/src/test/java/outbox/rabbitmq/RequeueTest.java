package outbox.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.RetryLaterException;
import outbox.testing.server.RabbitServer;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/** {@link Redelivery#REQUEUE}: the consumer nacks the message itself and publishes no copies. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("rabbitmq")
class RequeueTest {

    private OrderBroker broker;
    private ConsumerFixture app;

    @BeforeEach
    void open() throws Exception {
        broker = new OrderBroker(RabbitServer.shared());
        app = new ConsumerFixture();
    }

    @AfterEach
    void close() throws Exception {
        broker.close();
        app.close();
    }

    private RabbitConsumer.Builder consumer() throws Exception {
        return RabbitConsumer.builder()
                .connectionFactory(broker.factory())
                .queue(OrderBroker.QUEUE)
                .consumer("inventory")
                .inbox(app.inbox)
                .redelivery(Redelivery.REQUEUE)
                .redeliveryDelay(Duration.ofMillis(20));
    }

    /** Fails while {@code bad} is true. */
    private MessageHandler failing(AtomicBoolean bad) {
        return (message, connection) -> {
            app.effect(message, connection);
            if (bad.get() && message.eventId().equals("bad")) {
                throw new IllegalStateException("no stock");
            }
        };
    }

    @Test
    void a_failure_is_requeued_and_beyond_the_threshold_the_broker_moves_the_message_to_the_dead_letters()
            throws Exception {
        broker.publish("bad", "good");

        try (RabbitConsumer consumer = consumer()
                .maxRedeliveries(2)
                .handler(failing(new AtomicBoolean(true)))
                .build()) {
            consumer.start();
            broker.awaitReady(OrderBroker.DEAD, 1);
            await().until(() -> consumer.health().inFlight() == 0);

            assertThat(consumer.health().redelivered()).isEqualTo(2);
            assertThat(consumer.health().deadLettered()).isEqualTo(1);
        }

        assertThat(app.runs).containsExactlyInAnyOrder("bad", "good", "bad", "bad");
        assertThat(app.effects()).isEqualTo(1);
        List<DeadLetter> dead =
                DeadLetters.of(broker.factory(), OrderBroker.DEAD).list(DeadLetterFilter.all(), 10);
        assertThat(dead).singleElement().satisfies(letter -> {
            assertThat(letter.eventId()).isEqualTo("bad");
            // the reason set by the broker, because there is no copy with another one
            assertThat(letter.reason()).isEqualTo("rejected");
            assertThat(letter.queue()).isEqualTo(OrderBroker.QUEUE);
            assertThat(letter.redeliveries()).isZero();
        });
        assertThat(broker.ready(OrderBroker.QUEUE)).isZero();
    }

    @Test
    void what_can_never_be_handled_is_rejected_at_once() throws Exception {
        broker.publish("e1");

        try (RabbitConsumer consumer =
                consumer().handler("ORDER_PAID", app::effect).build()) {
            consumer.start();
            broker.awaitReady(OrderBroker.DEAD, 1);
            assertThat(consumer.health().redelivered()).isZero();
        }

        assertThat(app.runs).isEmpty();
    }

    @Test
    void what_is_no_fault_of_the_message_is_requeued_and_never_given_up() throws Exception {
        broker.publish("e1");

        try (RabbitConsumer consumer = consumer()
                .maxRedeliveries(0)
                .handler((message, connection) -> {
                    app.effect(message, connection);
                    if (app.runs.size() < 3) {
                        throw new RetryLaterException(Duration.ofMillis(1), "busy");
                    }
                })
                .build()) {
            consumer.start();
            await().until(() -> consumer.health().handled() == 1);
            assertThat(consumer.health().putOff()).isEqualTo(2);
        }

        assertThat(broker.ready(OrderBroker.DEAD)).isZero();
    }

    @Test
    void another_consumer_begins_to_count_anew_and_no_message_is_lost() throws Exception {
        broker.publish("bad");
        AtomicBoolean bad = new AtomicBoolean(true);

        // if the count survived a restart, the last run would dead-letter the message
        for (int life = 1; life <= 5; life++) {
            int runs = life;
            try (RabbitConsumer consumer = consumer()
                    .redeliveryDelay(Duration.ofMinutes(1))
                    .handler(failing(bad))
                    .build()) {
                consumer.start();
                await().until(() -> app.runs.size() == runs);
            }
        }
        bad.set(false);
        try (RabbitConsumer consumer = consumer().handler(failing(bad)).build()) {
            consumer.start();
            await().until(() -> consumer.health().handled() == 1);
        }

        assertThat(broker.ready(OrderBroker.DEAD)).isZero();
        assertThat(app.effects()).isEqualTo(1);
    }

    @Test
    void the_counts_are_bounded_and_forget_the_event_that_failed_longest_ago() {
        RequeueCounts counts = new RequeueCounts();
        for (int i = 0; i < RequeueCounts.CAPACITY; i++) {
            counts.increment("e" + i);
        }
        counts.increment("e0");
        counts.increment("one more");

        assertThat(counts.of("e0")).isEqualTo(2);
        assertThat(counts.of("e1")).isZero();
        assertThat(counts.of("one more")).isEqualTo(1);
        counts.forget("e0");
        assertThat(counts.of("e0")).isZero();
    }

    @Test
    void a_dead_letter_exchange_of_the_consumer_is_refused() throws Exception {
        RabbitConsumer.Builder settings = consumer().handler(app::effect).deadLetter(OrderBroker.EXCHANGE, "order.dlq");

        assertThatThrownBy(settings::build)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("deadLetter");
    }

    @Test
    void the_literal_example_of_section_6_is_handled() throws Exception {
        broker.publishBody("""
                {
                  "eventId": "uuid",
                  "eventType": "ORDER_CREATED",
                  "aggregateType": "Order",
                  "aggregateId": 900001,
                  "occurredAt": "2026-02-04T10:30:00Z",
                  "traceId": "trace-xxx",
                  "payload": {
                    "orderId": 900001,
                    "orderNo": "202602041030001234",
                    "buyerId": 10001,
                    "sellerId": 10002,
                    "totalAmount": 88.50
                  }
                }
                """, new BasicProperties());

        try (RabbitConsumer consumer = consumer()
                .handler("ORDER_CREATED", (message, connection) -> {
                    assertThat(message.aggregateId()).contains("900001");
                    assertThat(message.traceId()).contains("trace-xxx");
                    assertThat(message.payload()).startsWith("{").contains("\"totalAmount\": 88.50");
                    app.effect(message, connection);
                })
                .build()) {
            consumer.start();
            await().until(() -> consumer.health().handled() == 1);
        }

        assertThat(app.runs).containsExactly("uuid");
    }
}
