package outbox.rabbitmq;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.testing.server.RabbitServer;

import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** The consumer when its broker is killed or raises an alarm, on a separate node. */
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("rabbitmq")
class BrokerLossTest {

    private static final int EVENTS = 300;

    @Test
    void a_consumer_outlives_its_broker_without_more_threads_and_an_alarm_does_not_stop_it() throws Exception {
        Semaphore gate = new Semaphore(0);
        try (RabbitServer server = RabbitServer.start();
                OrderBroker broker = new OrderBroker(server);
                ConsumerFixture app = new ConsumerFixture();
                RabbitConsumer consumer = app.consumer(broker)
                        .concurrency(4)
                        .handler((message, connection) -> {
                            if (message.eventId().startsWith("gated")) {
                                assertThat(gate.tryAcquire(60, TimeUnit.SECONDS))
                                        .isTrue();
                            }
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
                        .until(() -> !consumer.health().consuming()
                                && consumer.health().trouble() != null);
                server.restart();
                await().atMost(Duration.ofSeconds(30))
                        .until(() -> consumer.health().consuming());
                broker.publish(ids(100 * kill + 60, 40));
                int soFar = 100 * kill + 100;
                await().atMost(Duration.ofSeconds(60)).until(() -> app.effects() == soFar);
            }
            await().atMost(Duration.ofSeconds(30)).until(() -> consumer.health().inFlight() == 0);
            assertThat(ours()).isLessThanOrEqualTo(threads + 1);

            gate.drainPermits();
            broker.publish("gated-0", "gated-1", "gated-7");
            await().until(() -> consumer.health().inFlight() == 3);
            server.raiseMemoryAlarm();
            try {
                gate.release(100);
                await().atMost(Duration.ofSeconds(30)).until(() -> app.effects() == EVENTS + 2);
                await().atMost(Duration.ofSeconds(5))
                        .until(() -> consumer.health().trouble() != null);
                assertThat(consumer.health().consuming()).isTrue();
                assertThat(unacked(broker)).isEqualTo(1); // the message that waits for its copy
            } finally {
                server.clearMemoryAlarm();
            }
            await().atMost(Duration.ofSeconds(60)).until(() -> app.effects() == EVENTS + 3);
            await().until(() -> consumer.health().trouble() == null);

            assertThat(app.differentEffects()).isEqualTo(EVENTS + 3);
            assertThat(consumer.health().deadLettered()).isZero();
            assertThat(broker.ready(OrderBroker.DEAD)).isZero();
        }
    }

    private static int unacked(OrderBroker broker) {
        String printed = broker.server.control(
                "list_queues", "-q", "-p", broker.virtualHost, "--no-table-headers", "name", "messages_unacknowledged");
        return printed.lines()
                .filter(line -> line.startsWith(OrderBroker.QUEUE))
                .mapToInt(line -> Integer.parseInt(
                        line.substring(OrderBroker.QUEUE.length()).strip()))
                .sum();
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
