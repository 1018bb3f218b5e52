package outbox.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.GetResponse;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.OutboxException;
import outbox.testing.server.RabbitServer;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("rabbitmq")
class DeadLettersTest {

    private OrderBroker broker;
    private ConsumerFixture app;
    private DeadLetters letters;

    @BeforeEach
    void open() throws Exception {
        broker = new OrderBroker(RabbitServer.shared());
        app = new ConsumerFixture();
        letters = DeadLetters.of(broker.factory(), OrderBroker.DEAD);
    }

    @AfterEach
    void close() throws Exception {
        broker.close();
        app.close();
    }

    @Test
    void looking_changes_nothing() throws Exception {
        givenDead("e0", "e1", "e2");

        assertThat(letters.count()).isEqualTo(3);
        assertThat(letters.list(DeadLetterFilter.all(), 100))
                .extracting(DeadLetter::eventId)
                .containsExactly("e0", "e1", "e2");
        assertThat(letters.list(DeadLetterFilter.all(), 2)).hasSize(2);
        DeadLetterDetails details = letters.find("e1").orElseThrow();
        assertThat(details.letter().reason()).isEqualTo("no such product e1");
        assertThat(details.letter().queue()).isEqualTo(OrderBroker.QUEUE);
        assertThat(details.body()).isEqualTo(OrderBroker.contract("e1", "ORDER_CREATED"));
        assertThat(details.headers()).containsEntry("x-outbox-consumer", "inventory");
        assertThat(letters.find("other")).isEmpty();

        broker.awaitReady(OrderBroker.DEAD, 3);
        assertThat(broker.drain(OrderBroker.DEAD).stream()
                        .map(dead -> dead.getProps().getMessageId()))
                .containsExactly("e0", "e1", "e2");
    }

    @Test
    void a_replay_takes_what_is_meant_back_to_its_queue() throws Exception {
        givenDead("e0", "e1", "e2", "e3");

        assertThat(letters.replay(filter().reason("e1").build(), 10, "ann", "ticket 7")
                        .replayed())
                .isEqualTo(1);
        assertThat(letters.replay(filter().eventIds(List.of("e2")).build(), 10, "ann", "ticket 7")
                        .replayed())
                .isEqualTo(1);
        assertThat(letters.replay(filter().eventType("OTHER").build(), 10, "ann", "ticket 7"))
                .isEqualTo(new DeadLetterReplay(0, List.of(), true));
        assertThat(letters.replay(filter().queue(OrderBroker.QUEUE).build(), 1, "ann", "ticket 7")
                        .replayed())
                .isEqualTo(1);

        broker.awaitReady(OrderBroker.QUEUE, 3);
        broker.awaitReady(OrderBroker.DEAD, 1);
        GetResponse replayed = broker.drain(OrderBroker.QUEUE).get(0);
        assertThat(replayed.getProps().getMessageId()).isEqualTo("e1");
        assertThat(replayed.getProps().getHeaders())
                .containsKeys("x-outbox-replays", "x-outbox-replayed-by", "x-outbox-replay-reason")
                .doesNotContainKeys("x-outbox-reason", "x-outbox-redeliveries", "x-death");
    }

    @Test
    void what_was_replayed_takes_effect_once_its_consumer_can_handle_it() throws Exception {
        givenDead("e0", "e1");
        letters.replay(DeadLetterFilter.all(), 10, "ann", "fixed");

        try (RabbitConsumer consumer = app.consumer(broker).handler(app::effect).build()) {
            consumer.start();
            await().until(() -> consumer.health().handled() == 2);
        }

        assertThat(app.differentEffects()).isEqualTo(2);
        assertThat(letters.count()).isZero();
    }

    @Test
    void a_replay_ends_though_all_of_it_comes_back() throws Exception {
        Channel channel = broker.channel();
        channel.queueDelete(OrderBroker.DEAD);
        channel.queueDeclare(OrderBroker.DEAD, true, false, false, Map.of("x-max-priority", 9));
        channel.queueBind(OrderBroker.DEAD, OrderBroker.EXCHANGE, "order.dlq");
        try (RabbitConsumer consumer = hopeless()) {
            consumer.start();
            broker.publish(IntStream.range(0, 100).mapToObj(i -> "e" + i).toArray(String[]::new));
            BasicProperties urgent =
                    new BasicProperties.Builder().deliveryMode(2).priority(9).build();
            // overtakes all other messages
            broker.publishBody(OrderBroker.contract("urgent", "ORDER_CREATED"), urgent);
            broker.awaitReady(OrderBroker.DEAD, 101);

            DeadLetterReplay replay = letters.replay(DeadLetterFilter.all(), 10_000, "ann", "again");

            assertThat(replay.complete()).isTrue();
            assertThat(replay.replayed()).isBetween(100, 101); // one of the reads may be a returned message
            broker.awaitReady(OrderBroker.DEAD, 101);
        }
        assertThat(letters.list(DeadLetterFilter.all(), 200))
                .hasSize(101)
                .allMatch(letter -> letter.replays() <= 1)
                .anyMatch(letter -> "urgent".equals(letter.eventId()));
    }

    @Test
    void what_the_broker_itself_rejected_can_be_replayed_too() throws Exception {
        broker.publish("e1");
        Channel channel = broker.channel();
        channel.basicReject(
                channel.basicGet(OrderBroker.QUEUE, false).getEnvelope().getDeliveryTag(), false);
        broker.awaitReady(OrderBroker.DEAD, 1);

        DeadLetter letter = letters.list(DeadLetterFilter.all(), 1).get(0);
        assertThat(letter.reason()).isEqualTo("rejected");
        assertThat(letter.queue()).isEqualTo(OrderBroker.QUEUE);
        assertThat(letters.replay(DeadLetterFilter.all(), 1, "ann", "again").replayed())
                .isEqualTo(1);

        broker.awaitReady(OrderBroker.QUEUE, 1);
        assertThat(letters.count()).isZero();
    }

    @Test
    void what_cannot_be_replayed_stays_and_says_why() throws Exception {
        givenDead("e0", "e1");
        broker.publishBody("?", new BasicProperties());
        Channel channel = broker.channel();
        channel.queueDelete(OrderBroker.QUEUE);
        channel.basicPublish(OrderBroker.EXCHANGE, "order.dlq", null, new byte[] {1});
        broker.awaitReady(OrderBroker.DEAD, 3);

        DeadLetterReplay replay = letters.replay(DeadLetterFilter.all(), 10, "ann", "again");

        assertThat(replay.replayed()).isZero();
        assertThat(replay.complete()).isFalse();
        assertThat(replay.failures())
                .satisfiesExactly(
                        failure -> assertThat(failure).contains("e0", "knows no queue"),
                        failure -> assertThat(failure).contains("e1"),
                        failure -> assertThat(failure).contains("does not name the queue"));
        broker.awaitReady(OrderBroker.DEAD, 3);
    }

    @Test
    void wrong_requests_are_refused() throws Exception {
        assertThatThrownBy(() -> letters.list(DeadLetterFilter.all(), 0)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> letters.replay(DeadLetterFilter.all(), 10_001, "ann", "x"))
                .hasMessageContaining("cap");
        assertThatThrownBy(() -> letters.replay(DeadLetterFilter.all(), 1, "ann", " "))
                .hasMessageContaining("reason");
        assertThatThrownBy(
                        () -> DeadLetters.of(broker.factory(), "no.such.queue").count())
                .isInstanceOf(OutboxException.class)
                .hasMessageContaining("no.such.queue");
    }

    private static DeadLetterFilter.Builder filter() {
        return DeadLetterFilter.builder();
    }

    private RabbitConsumer hopeless() throws Exception {
        return app.consumer(broker)
                .handler((message, connection) -> {
                    throw new UnrecoverableMessageException("no such product " + message.eventId());
                })
                .build();
    }

    private void givenDead(String... ids) throws Exception {
        broker.publish(ids);
        try (RabbitConsumer consumer = hopeless()) {
            consumer.start();
            await().atMost(Duration.ofSeconds(30)).until(() -> consumer.health().deadLettered() == ids.length);
        }
        broker.awaitReady(OrderBroker.DEAD, ids.length);
    }
}
