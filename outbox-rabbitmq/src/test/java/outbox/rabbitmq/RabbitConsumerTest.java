package outbox.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.GetResponse;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.RetryLaterException;
import outbox.inbox.Inbox;
import outbox.inbox.InboxException;
import outbox.testing.server.RabbitServer;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("rabbitmq")
class RabbitConsumerTest {

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

    @Test
    void each_event_takes_effect_once_and_in_order() throws Exception {
        String[] ids = ids(50);
        broker.publish(ids);
        broker.publish(ids[7], ids[9]);

        try (RabbitConsumer consumer = app.consumer(broker).handler(app::effect).build()) {
            consumer.start();
            await().until(() -> consumer.health().duplicates() == 2);
        }

        assertThat(app.runs).containsExactly(ids);
        assertThat(app.effects()).isEqualTo(50);
        assertThat(broker.ready(OrderBroker.QUEUE)).isZero();
        assertThat(broker.ready(OrderBroker.DEAD)).isZero();
    }

    @Test
    void a_handler_sees_what_the_message_says() throws Exception {
        broker.publish("e1");
        List<ReceivedMessage> seen = new java.util.concurrent.CopyOnWriteArrayList<>();

        try (RabbitConsumer consumer = app.consumer(broker)
                .handler("ORDER_CREATED", (message, connection) -> seen.add(message))
                .build()) {
            consumer.start();
            await().until(() -> consumer.health().handled() == 1);
        }

        assertThat(seen.get(0).aggregateId()).contains("900001");
        assertThat(seen.get(0).traceId()).contains("trace-1");
        assertThat(seen.get(0).payload()).isEqualTo("{\"orderId\":900001, \"totalAmount\":88.50}");
    }

    @Test
    void a_message_that_fails_too_often_is_a_dead_letter_with_the_reason() throws Exception {
        broker.publish("bad", "good");

        try (RabbitConsumer consumer = app.consumer(broker)
                .maxRedeliveries(2)
                .handler(failingFor("bad", new IllegalStateException("no stock")))
                .build()) {
            consumer.start();
            broker.awaitReady(OrderBroker.DEAD, 1);
            await().until(() -> consumer.health().inFlight() == 0);

            assertThat(consumer.health().redelivered()).isEqualTo(2);
            assertThat(consumer.health().deadLettered()).isEqualTo(1);
            assertThat(consumer.health().trouble()).isNull();
        }

        assertThat(app.runs).containsExactlyInAnyOrder("bad", "good", "bad", "bad");
        assertThat(app.effects()).isEqualTo(1);
        GetResponse dead = broker.drain(OrderBroker.DEAD).get(0);
        assertThat(OrderBroker.header(dead, "x-outbox-reason")).contains("2 redeliveries", "no stock");
        assertThat(OrderBroker.header(dead, "x-outbox-queue")).isEqualTo(OrderBroker.QUEUE);
        assertThat(OrderBroker.header(dead, "x-outbox-consumer")).isEqualTo("inventory");
        assertThat(OrderBroker.header(dead, "x-outbox-exchange")).isEqualTo(OrderBroker.EXCHANGE);
        assertThat(OrderBroker.header(dead, "x-outbox-routing-key")).isEqualTo("order.created");
        assertThat(dead.getProps().getMessageId()).isEqualTo("bad");
        assertThat(new String(dead.getBody(), java.nio.charset.StandardCharsets.UTF_8))
                .isEqualTo(OrderBroker.contract("bad", "ORDER_CREATED"));
        assertThat(broker.ready(OrderBroker.QUEUE)).isZero();
    }

    @Test
    void the_count_of_redeliveries_survives_the_consumer() throws Exception {
        broker.publish("bad");
        MessageHandler failing = failingFor("bad", new IllegalStateException("no"));

        for (int life = 1; life <= 4; life++) {
            int runs = life;
            try (RabbitConsumer consumer = app.consumer(broker)
                    .redeliveryDelay(Duration.ofMinutes(1))
                    .handler(failing)
                    .build()) {
                consumer.start();
                await().until(() -> app.runs.size() == runs);
            } // close does not wait for the redelivery delay of one minute
        }

        broker.awaitReady(OrderBroker.DEAD, 1);
        assertThat(app.runs).hasSize(4);
        assertThat(broker.ready(OrderBroker.QUEUE)).isZero();
    }

    @Test
    void what_can_never_be_handled_is_a_dead_letter_at_once() throws Exception {
        BasicProperties plain = new BasicProperties.Builder().deliveryMode(2).build();
        broker.publishBody(OrderBroker.contract("e1", "ORDER_EATEN"), plain);
        broker.publishBody("{\"eventId\":\"e2\"", plain);
        broker.publishBody("{\"eventId\":\"e3\",\"eventType\":\"ORDER_CREATED\"}", plain);
        broker.publishBody(OrderBroker.contract("x".repeat(300), "ORDER_CREATED"), plain);
        broker.publishBody(OrderBroker.contract("e5", "ORDER_CREATED"), plain);

        try (RabbitConsumer consumer = app.consumer(broker)
                .handler("ORDER_CREATED", (message, connection) -> {
                    app.effect(message, connection);
                    throw new UnrecoverableMessageException("there is no such order");
                })
                .build()) {
            consumer.start();
            broker.awaitReady(OrderBroker.DEAD, 5);
            await().until(() -> consumer.health().inFlight() == 0);
            assertThat(consumer.health().redelivered()).isZero();
        }

        assertThat(app.runs).containsExactly("e5");
        assertThat(app.effects()).isZero();
        assertThat(broker.drain(OrderBroker.DEAD).stream().map(dead -> OrderBroker.header(dead, "x-outbox-reason")))
                .satisfiesExactly(
                        reason -> assertThat(reason).contains("no handler", "ORDER_EATEN"),
                        reason -> assertThat(reason).contains("JSON"),
                        reason -> assertThat(reason).contains("payload"),
                        reason -> assertThat(reason).contains("eventId"),
                        reason -> assertThat(reason).isEqualTo("there is no such order"));
    }

    @Test
    void a_failure_of_the_database_is_not_that_of_the_message_and_a_quorum_queue_does_not_count_it() throws Exception {
        Channel channel = broker.channel();
        channel.queueDelete(OrderBroker.QUEUE);
        channel.queueDeclare(
                OrderBroker.QUEUE,
                true,
                false,
                false,
                Map.of(
                        "x-queue-type",
                        "quorum",
                        "x-delivery-limit",
                        1,
                        "x-dead-letter-exchange",
                        OrderBroker.EXCHANGE,
                        "x-dead-letter-routing-key",
                        "order.dlq"));
        channel.queueBind(OrderBroker.QUEUE, OrderBroker.EXCHANGE, "order.created");
        broker.publish("e1");
        AtomicInteger calls = new AtomicInteger();
        Inbox shaky = new Inbox() {
            @Override
            public <X extends Exception> boolean handle(
                    String consumer, String eventId, @Nullable String eventType, Inbox.Action<X> action) throws X {
                if (calls.incrementAndGet() == 1) {
                    throw new InboxException("the database is away", null);
                }
                return app.inbox.handle(consumer, eventId, eventType, action);
            }
        };

        try (RabbitConsumer consumer = app.consumer(broker)
                .maxRedeliveries(0)
                .inbox(shaky)
                .handler((message, connection) -> {
                    if (calls.get() == 2) {
                        throw new SQLException("deadlock", "40001");
                    }
                    if (calls.get() == 3) {
                        throw new RetryLaterException(Duration.ZERO, "busy");
                    }
                    app.effect(message, connection);
                })
                .build()) {
            consumer.start();
            await().atMost(Duration.ofSeconds(30)).until(() -> consumer.health().handled() == 1);
            assertThat(consumer.health().putOff()).isEqualTo(3);
        }

        assertThat(app.effects()).isEqualTo(1);
        assertThat(broker.ready(OrderBroker.DEAD)).isZero();
    }

    @Test
    void a_message_that_no_dead_letter_queue_takes_is_kept() throws Exception {
        Channel channel = broker.channel();
        channel.queueUnbind(OrderBroker.DEAD, OrderBroker.EXCHANGE, "order.dlq");
        broker.publish("bad");

        try (RabbitConsumer consumer = app.consumer(broker)
                .maxRedeliveries(0)
                .handler(failingFor("bad", new IllegalStateException("no")))
                .build()) {
            consumer.start();
            await().until(() ->
                    consumer.health().trouble() != null && consumer.health().consuming());
            assertThat(consumer.health().trouble()).contains("order.dlq");
            channel.queueBind(OrderBroker.DEAD, OrderBroker.EXCHANGE, "order.dlq");

            broker.awaitReady(OrderBroker.DEAD, 1);
            await().until(() -> consumer.health().trouble() == null);
        }
        assertThat(broker.ready(OrderBroker.QUEUE)).isZero();
    }

    @Test
    void a_message_is_kept_though_its_consumer_may_not_publish_dead_letters() throws Exception {
        broker.server.control("add_user", broker.virtualHost, "secret");
        broker.server.control("set_permissions", "-p", broker.virtualHost, broker.virtualHost, "", "", ".*");
        ConnectionFactory reader = broker.factory();
        reader.setUsername(broker.virtualHost);
        reader.setPassword("secret");
        broker.publish("e1");

        try (RabbitConsumer consumer = app.consumer(broker)
                .connectionFactory(reader)
                .handler("OTHER", app::effect)
                .build()) {
            consumer.start();
            await().until(() -> String.valueOf(consumer.health().trouble()).contains(OrderBroker.EXCHANGE));
            assertThat(consumer.health().deadLettered()).isZero();
        }

        broker.awaitReady(OrderBroker.QUEUE, 1);
        assertThat(broker.ready(OrderBroker.DEAD)).isZero();
    }

    @Test
    void a_copy_goes_nowhere_but_to_its_queue() throws Exception {
        Channel channel = broker.channel();
        channel.queueDeclare("copies", true, false, false, null);
        channel.queueBind("copies", OrderBroker.EXCHANGE, "order.created");
        channel.queueBind("copies", OrderBroker.EXCHANGE, "carbon");
        broker.publishBody(
                OrderBroker.contract("bad", "ORDER_CREATED"),
                new BasicProperties.Builder()
                        .userId("guest")
                        .expiration("60000")
                        .headers(Map.of("CC", List.of("carbon"), "tenant", "t1"))
                        .build());

        try (RabbitConsumer consumer = app.consumer(broker)
                .maxRedeliveries(1)
                .handler(failingFor("bad", new IllegalStateException("no")))
                .build()) {
            consumer.start();
            broker.awaitReady(OrderBroker.DEAD, 1);
        }

        assertThat(broker.ready("copies")).isEqualTo(1); // a queue gets one copy, even if several routing keys match
        GetResponse dead = broker.drain(OrderBroker.DEAD).get(0);
        assertThat(OrderBroker.header(dead, "tenant")).isEqualTo("t1");
        assertThat(dead.getProps().getDeliveryMode()).isEqualTo(2);
        assertThat(dead.getProps().getExpiration()).isNull();
    }

    @Test
    void no_more_than_the_prefetch_arrive_and_no_more_than_the_concurrency_run() throws Exception {
        broker.publish(ids(60));
        Semaphore go = new Semaphore(0);
        AtomicInteger running = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        CyclicBarrier together = new CyclicBarrier(3);

        try (RabbitConsumer consumer = app.consumer(broker)
                .concurrency(3)
                .handler((message, connection) -> {
                    most.accumulateAndGet(running.incrementAndGet(), Math::max);
                    try {
                        together.await(20, TimeUnit.SECONDS);
                        assertThat(go.tryAcquire(30, TimeUnit.SECONDS)).isTrue();
                        app.effect(message, connection);
                    } finally {
                        running.decrementAndGet();
                    }
                })
                .build()) {
            consumer.start();
            broker.awaitReady(OrderBroker.QUEUE, 40);
            await().until(() -> consumer.health().inFlight() == 20);
            go.release(60);
            await().atMost(Duration.ofSeconds(30)).until(() -> consumer.health().handled() == 60);
        }

        assertThat(most).hasValue(3);
    }

    @Test
    void a_message_of_a_lost_connection_comes_again_and_takes_effect_once() throws Exception {
        broker.publish(ids(40));
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch closed = new CountDownLatch(1);

        try (RabbitConsumer consumer = app.consumer(broker)
                .handler((message, connection) -> {
                    begun.countDown();
                    assertThat(closed.await(30, TimeUnit.SECONDS)).isTrue();
                    app.effect(message, connection);
                })
                .build()) {
            consumer.start();
            assertThat(begun.await(30, TimeUnit.SECONDS)).isTrue();
            broker.server.closeConnections(broker.virtualHost);
            closed.countDown();

            await().atMost(Duration.ofSeconds(30))
                    .until(() -> app.effects() == 40 && consumer.health().inFlight() == 0);
            await().until(() -> consumer.health().consuming());
            assertThat(consumer.health().trouble()).isNull();
            // at least the first message, whose ack was too late
            assertThat(consumer.health().duplicates()).isPositive();
        }

        assertThat(app.differentEffects()).isEqualTo(40);
        assertThat(broker.ready(OrderBroker.QUEUE)).isZero();
    }

    @Test
    void a_close_finishes_what_runs_and_gives_back_the_rest() throws Exception {
        broker.publish(ids(10));
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        RabbitConsumer consumer = app.consumer(broker)
                .handler((message, connection) -> {
                    begun.countDown();
                    assertThat(go.await(30, TimeUnit.SECONDS)).isTrue();
                    app.effect(message, connection);
                })
                .build();
        consumer.start();
        assertThat(begun.await(30, TimeUnit.SECONDS)).isTrue();
        await().until(() -> consumer.health().inFlight() == 10);

        Thread closing = new Thread(consumer::close);
        closing.start();
        await().until(() -> !consumer.health().consuming());
        go.countDown();
        closing.join(30_000);

        assertThat(closing.isAlive()).isFalse();
        assertThat(app.effects()).isEqualTo(1);
        broker.awaitReady(OrderBroker.QUEUE, 9);
        consumer.close();
        assertThatThrownBy(consumer::start).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void a_close_waits_for_what_runs_though_its_queue_is_lost_and_forgets_the_rest() throws Exception {
        broker.publish(ids(10));
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        RabbitConsumer consumer = app.consumer(broker)
                .handler((message, connection) -> {
                    begun.countDown();
                    assertThat(go.await(30, TimeUnit.SECONDS)).isTrue();
                    app.effect(message, connection);
                })
                .build();
        consumer.start();
        assertThat(begun.await(30, TimeUnit.SECONDS)).isTrue();
        await().until(() -> consumer.health().inFlight() == 10);
        broker.channel().queueDelete(OrderBroker.QUEUE);
        await().until(() -> consumer.health().inFlight() == 1); // the message of the running handler

        Thread closing = new Thread(consumer::close);
        closing.start();
        await().until(() -> "closed".equals(consumer.health().trouble()));
        go.countDown();
        closing.join(30_000);

        assertThat(closing.isAlive()).isFalse();
        assertThat(app.effects()).isEqualTo(1);
    }

    @Test
    void a_close_does_not_wait_for_ever() throws Exception {
        broker.publish("e1");
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch interrupted = new CountDownLatch(1);
        RabbitConsumer consumer = app.consumer(broker)
                .drainTime(Duration.ofMillis(100))
                .handler((message, connection) -> {
                    begun.countDown();
                    try {
                        new CountDownLatch(1).await(60, TimeUnit.SECONDS);
                    } catch (InterruptedException e) {
                        interrupted.countDown();
                        throw e;
                    }
                })
                .build();
        consumer.start();
        assertThat(begun.await(30, TimeUnit.SECONDS)).isTrue();

        consumer.close();

        assertThat(interrupted.await(10, TimeUnit.SECONDS)).isTrue();
        broker.awaitReady(OrderBroker.QUEUE, 1);
        assertThat(broker.ready(OrderBroker.DEAD)).isZero();
    }

    @Test
    void a_queue_that_is_not_there_is_told_and_waited_for() throws Exception {
        try (RabbitConsumer consumer =
                app.consumer(broker).queue("later.queue").handler(app::effect).build()) {
            consumer.start();
            await().until(() -> String.valueOf(consumer.health().trouble()).contains("later.queue"));
            assertThat(consumer.health().consuming()).isFalse();

            broker.channel().queueDeclare("later.queue", true, false, false, null);

            await().atMost(Duration.ofSeconds(20)).until(() -> consumer.health().consuming());
            broker.channel().queueDelete("later.queue");
            await().until(() -> !consumer.health().consuming());
        }
    }

    @Test
    void an_error_while_connecting_does_not_end_the_consumer() throws Exception {
        AtomicInteger connects = new AtomicInteger();
        ConnectionFactory factory = broker.factory();
        factory.setSocketConfigurator(socket -> {
            if (connects.incrementAndGet() == 1) {
                throw new StackOverflowError("the test wants it");
            }
        });

        try (RabbitConsumer consumer = app.consumer(broker)
                .connectionFactory(factory)
                .handler(app::effect)
                .build()) {
            consumer.start();
            broker.publish("e1");
            await().until(() -> consumer.health().handled() == 1);
        }
    }

    @Test
    void wrong_settings_are_refused() throws Exception {
        RabbitConsumer.Builder complete = app.consumer(broker).handler(app::effect);

        assertThatThrownBy(() -> RabbitConsumer.builder().build()).hasMessageContaining("is required");
        assertThatThrownBy(() -> app.consumer(broker).build()).hasMessageContaining("handler");
        assertThatThrownBy(() -> complete.prefetch(0)).hasMessageContaining("prefetch");
        assertThatThrownBy(() -> complete.maxRedeliveries(-1)).hasMessageContaining("maxRedeliveries");
        assertThatThrownBy(() -> complete.prefetch(5).concurrency(6).build()).hasMessageContaining("concurrency");
        assertThatThrownBy(() -> complete.queue(" ")).hasMessageContaining("queue");
        assertThatThrownBy(() -> complete.consumer("x".repeat(65))).hasMessageContaining("64");
        assertThatThrownBy(() -> complete.consumer("a\nb")).hasMessageContaining("control");
    }

    private MessageHandler failingFor(String eventId, Exception failure) {
        return (message, connection) -> {
            app.effect(message, connection);
            if (message.eventId().equals(eventId)) {
                throw failure;
            }
        };
    }

    private static String[] ids(int count) {
        return IntStream.range(0, count).mapToObj(i -> "e" + i).toArray(String[]::new);
    }
}
