package outbox.rabbitmq;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.testing.RabbitServer;

import java.time.Duration;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** What the consumer does when its broker dies or raises an alarm, on a node of its own. */
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BrokerLossTest {

    private static final int EVENTS = 300;

    @Test
    void a_consumer_outlives_its_broker_without_more_threads_and_an_alarm_does_not_stop_it() throws Exception {
        try (RabbitServer server = RabbitServer.start();
                OrderBroker broker = new OrderBroker(server);
                ConsumerFixture app = new ConsumerFixture();
                RabbitConsumer consumer = app.consumer(broker)
                        .concurrency(4)
                        .handler((message, connection) -> {
                            app.effect(message, connection);
                            if (message.eventId().endsWith("7") && message.redeliveries() == 0) {
                                throw new IllegalStateException("at first");
                            }
                        })
                        .build()) {
            consumer.start();
            broker.publish(ids(0, 100));
            await().atMost(Duration.ofSeconds(30)).until(() -> app.effects() == 100);
            int threads = ours();

            for (int kill = 1; kill <= 2; kill++) {
                broker.publish(ids(100 * kill, 60));
                server.kill();
                await().atMost(Duration.ofSeconds(5))
                        .until(() -> !consumer.health().consuming() && consumer.health().trouble() != null);
                server.restart();
                await().atMost(Duration.ofSeconds(30)).until(() -> consumer.health().consuming());
                broker.publish(ids(100 * kill + 60, 40));
                int soFar = 100 * kill + 100;
                await().atMost(Duration.ofSeconds(60)).until(() -> app.effects() == soFar);
            }
            await().atMost(Duration.ofSeconds(30)).until(() -> consumer.health().inFlight() == 0);
            assertThat(ours()).isLessThanOrEqualTo(threads + 1);

            server.raiseMemoryAlarm();
            try {
                assertThat(consumer.health().consuming()).isTrue();
            } finally {
                server.clearMemoryAlarm();
            }
            broker.publish("after-the-alarm");
            await().atMost(Duration.ofSeconds(30)).until(() -> app.effects() == EVENTS + 1);

            assertThat(app.differentEffects()).isEqualTo(EVENTS + 1);
            assertThat(consumer.health().deadLettered()).isZero();
            assertThat(broker.ready(OrderBroker.DEAD)).isZero();
        }
    }

    private static String[] ids(int from, int count) {
        return IntStream.range(from, from + count).mapToObj(i -> "e" + i).toArray(String[]::new);
    }

    private static int ours() {
        return (int) Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("outbox-inventory")
                        || thread.getName().startsWith("AMQP"))
                .count();
    }
}
