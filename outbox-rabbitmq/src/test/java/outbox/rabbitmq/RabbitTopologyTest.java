package outbox.rabbitmq;

import com.rabbitmq.client.BuiltinExchangeType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.time.Duration;
import java.util.List;
import java.util.Map;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("rabbitmq")
class RabbitTopologyTest {
    private final Rabbit rabbit = Rabbit.shared();

    private static RabbitTopology market(Duration timeout) {
        return RabbitTopology.builder()
                .topicExchange("order.events.exchange")
                .queue(RabbitQueue.named("order.timeout.queue").deadLetterTo("order.events.exchange", "order.dlq"))
                .queue(RabbitQueue.named("order.timeout.delay.queue")
                        .timeToLive(timeout)
                        .deadLetterTo("order.events.exchange", "order.timeout"))
                .queue(RabbitQueue.named("order.dlq.queue"))
                .bind("order.timeout.queue", "order.events.exchange", "order.timeout")
                .bind("order.timeout.delay.queue", "order.events.exchange", "order.timeout.delay")
                .bind("order.dlq.queue", "order.events.exchange", "order.dlq")
                .build();
    }

    private void publish(String exchange, String routingKey, String body) {
        rabbit.call(channel -> {
            channel.confirmSelect();
            channel.basicPublish(exchange, routingKey, null, body.getBytes(UTF_8));
            return channel.waitForConfirms(10_000);
        });
    }

    private List<String> texts(String queue) {
        return rabbit.drain(queue).stream()
                .map(got -> new String(got.getBody(), UTF_8))
                .toList();
    }

    @Test
    void what_is_described_is_declared_and_works_and_may_be_declared_again() {
        rabbit.topology(market(Duration.ofMillis(100)));
        rabbit.topology(market(Duration.ofMillis(100)));

        publish("order.events.exchange", "order.timeout.delay", "late");

        await().atMost(Duration.ofSeconds(10))
                .until(() -> rabbit.call(channel -> channel.messageCount("order.timeout.queue")) == 1);
        rabbit.call(channel -> {
            channel.basicReject(
                    channel.basicGet("order.timeout.queue", false).getEnvelope().getDeliveryTag(), false);
            return true;
        });
        await().atMost(Duration.ofSeconds(10))
                .until(() -> rabbit.call(channel -> channel.messageCount("order.dlq.queue")) == 1);
    }

    @Test
    void what_exists_otherwise_is_reported_by_name_with_the_difference_and_nothing_is_touched_or_created() {
        rabbit.call(channel -> channel.exchangeDeclare("order.events.exchange", BuiltinExchangeType.FANOUT, true));
        rabbit.call(channel -> channel.queueDeclare(
                "order.timeout.delay.queue",
                true,
                false,
                false,
                Map.of(
                        "x-message-ttl",
                        1000,
                        "x-dead-letter-exchange",
                        "order.events.exchange",
                        "x-dead-letter-routing-key",
                        "order.timeout")));
        publish("", "order.dlq.queue", "into the void");
        publish("", "order.timeout.delay.queue", "kept"); // its TTL is longer than this test

        assertThatThrownBy(() -> rabbit.topology(market(Duration.ofMinutes(15))))
                .cause()
                .isInstanceOfSatisfying(
                        RabbitTopologyException.class,
                        e -> assertThat(e.differences())
                                .hasSize(2)
                                .anySatisfy(difference -> assertThat(difference)
                                        .contains("exchange 'order.events.exchange'", "type", "fanout"))
                                .anySatisfy(difference -> assertThat(difference)
                                        .contains(
                                                "queue 'order.timeout.delay.queue'",
                                                "x-message-ttl",
                                                "900000",
                                                "1000")));

        assertThat(rabbit.server().management("queues/" + rabbit.virtualHost()))
                .contains("order.timeout.delay.queue")
                .doesNotContain("order.dlq.queue");
    }

    @Test
    void a_binding_to_an_exchange_that_is_not_there_is_reported_by_name_with_what_was_created() {
        RabbitTopology topology = RabbitTopology.builder()
                .queue(RabbitQueue.named("lonely"))
                .bind("lonely", "of-another", "key")
                .build();

        assertThatThrownBy(() -> rabbit.topology(topology))
                .cause()
                .isInstanceOf(RabbitTopologyException.class)
                .hasMessageContaining("binding of queue 'lonely' to exchange 'of-another' by 'key': NOT_FOUND")
                .hasMessageContaining("Created: queue 'lonely'");
    }

    @Test
    void a_short_delay_does_not_wait_behind_a_long_one() {
        RabbitDelay delay = RabbitDelay.to("orders", "orders.delay", Duration.ofMillis(200), Duration.ofMinutes(10));
        rabbit.topology(RabbitTopology.builder()
                .topicExchange("orders")
                .queue(RabbitQueue.named("due"))
                .bind("due", "orders", "order.*")
                .delay(delay)
                .build());
        RabbitRoute later = delay.route(Duration.ofSeconds(5), "order.timeout");
        RabbitRoute soon = delay.route(Duration.ofMillis(150), "order.timeout");

        publish(later.exchange(), later.routingKey(), "later");
        publish(soon.exchange(), soon.routingKey(), "soon");

        await().atMost(Duration.ofSeconds(10)).until(() -> rabbit.call(channel -> channel.messageCount("due")) == 1);
        assertThat(texts("due")).containsExactly("soon");
        long waiting = rabbit.call(channel -> channel.messageCount(later.exchange()));
        assertThat(waiting).isEqualTo(1);
    }

    @Test
    void descriptions_that_are_wrong_in_themselves_are_refused() {
        assertThatThrownBy(() -> RabbitTopology.builder().bind("q", "x", "k")).hasMessageContaining("no queue q");
        assertThatThrownBy(() -> RabbitTopology.builder().topicExchange("x").topicExchange("x"))
                .hasMessageContaining("twice");
        assertThatThrownBy(() -> RabbitQueue.named("q").timeToLive(Duration.ZERO))
                .hasMessageContaining("time to live");
        assertThatThrownBy(() -> RabbitQueue.named("q").quorum().quorum()).hasMessageContaining("already");
        assertThatThrownBy(() -> RabbitDelay.to("x", "d")).hasMessageContaining("span");
        assertThatThrownBy(() -> RabbitDelay.to("x", "d", Duration.ofSeconds(1)).route(Duration.ofSeconds(2), "k"))
                .hasMessageContaining("longest is PT1S");
    }
}
