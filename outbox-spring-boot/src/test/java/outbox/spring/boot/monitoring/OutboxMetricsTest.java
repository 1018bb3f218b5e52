package outbox.spring.boot.monitoring;

import com.rabbitmq.client.ConnectionFactory;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import outbox.memory.MemoryInbox;
import outbox.rabbitmq.RabbitConsumer;
import outbox.spring.ListenerSource;
import outbox.spring.boot.Applications;

import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

@NullUnmarked
class OutboxMetricsTest {

    private final ApplicationContextRunner runner = Applications.with(OutboxMetricsAutoConfiguration.class)
            .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
            .withBean(ListenerSource.class, () -> Applications.listening(event -> {}));

    @Test
    void writes_and_deliveries_are_counted_and_the_table_is_read_for_its_gauges() {
        runner.run(context -> {
            MeterRegistry registry = context.getBean(MeterRegistry.class);
            Applications.write(context, "order.placed");

            await().until(() -> registry.get("outbox.dispatch")
                            .tags("table", "public.outbox_event", "topic", "order.placed", "result", "success")
                            .counter()
                            .count()
                    == 1);
            assertThat(registry.get("outbox.enqueue").counter().count()).isEqualTo(1);
            assertThat(registry.get("outbox.pending").gauge().value()).isBetween(0.0, 1.0);
            assertThat(registry.find("outbox.relay.leader").gauge()).isNull();
        });
    }

    @Test
    void what_is_read_of_the_table_can_be_chosen() {
        runner.withPropertyValues("outbox.metrics.backlog=false")
                .run(context -> assertThat(context.getBean(MeterRegistry.class)
                                .find("outbox.pending")
                                .gauge())
                        .isNull());
        runner.withPropertyValues("outbox.metrics.sample-every=1h").run(context -> {
            MeterRegistry registry = context.getBean(MeterRegistry.class);
            await().until(() ->
                    !Double.isNaN(registry.get("outbox.pending").gauge().value()));
            Applications.jdbc(context).execute("DROP TABLE outbox_event");

            assertThat(registry.get("outbox.pending").gauge().value()).isZero();
            assertThat(registry.get("outbox.sample.failures").counter().count()).isZero();
        });
    }

    @Test
    void a_scrape_waits_as_long_as_it_may() {
        runner.withPropertyValues("outbox.metrics.sample-timeout=1ms", "spring.datasource.hikari.maximum-pool-size=1")
                .run(context -> {
                    MeterRegistry registry = context.getBean(MeterRegistry.class);
                    try (var held = context.getBean(DataSource.class).getConnection()) {
                        assertThat(held).isNotNull();
                        registry.get("outbox.pending").gauge().value();
                        assertThat(registry.get("outbox.sample.failures")
                                        .counter()
                                        .count())
                                .isEqualTo(1);
                    }
                });
    }

    @Test
    void the_number_of_topics_is_bounded() {
        runner.withPropertyValues("outbox.metrics.max-topics=1").run(context -> {
            Applications.write(context, "first");
            Applications.write(context, "second");

            assertThat(context.getBean(MeterRegistry.class)
                            .get("outbox.enqueue")
                            .tag("topic", "other")
                            .counter()
                            .count())
                    .isEqualTo(1);
        });
    }

    @Test
    void a_single_active_node_tells_whether_it_leads() {
        runner.withPropertyValues("outbox.single-active.enabled=true", "outbox.poller.interval=1s")
                .run(context -> await().until(() -> context.getBean(MeterRegistry.class)
                                .get("outbox.relay.leader")
                                .gauge()
                                .value()
                        == 1));
    }

    @Test
    void several_outboxes_with_tables_of_one_name_have_meters_of_their_own() {
        Applications.bare(OutboxMetricsAutoConfiguration.class)
                .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
                .withPropertyValues(
                        "outbox.named.orders.role=writer",
                        "outbox.named.stock.role=writer",
                        "outbox.named.orders.poller.interval=1s")
                .run(context -> assertThat(context.getBean(MeterRegistry.class)
                                .get("outbox.lost.claims")
                                .counters())
                        .extracting(counter -> counter.getId().getTag("table"))
                        .containsExactlyInAnyOrder("orders:public.outbox_event", "stock:public.outbox_event"));
    }

    @Test
    void meters_go_with_the_application() {
        SimpleMeterRegistry registry = new SimpleMeterRegistry();
        Applications.with(OutboxMetricsAutoConfiguration.class)
                .withBean(MeterRegistry.class, () -> registry, definition -> definition.setDestroyMethodName(""))
                .run(context -> assertThat(registry.getMeters()).isNotEmpty());

        assertThat(registry.getMeters()).isEmpty();
    }

    @Test
    void consumers_tell_what_became_of_their_messages() {
        RabbitConsumer consumer = RabbitConsumer.builder()
                .connectionFactory(new ConnectionFactory())
                .queue("orders")
                .consumer("stock")
                .inbox(new MemoryInbox())
                .deadLetter("dead", "orders")
                .handler((message, connection) -> {})
                .build();
        runner.withBean("stockConsumer", RabbitConsumer.class, () -> consumer).run(context -> {
            MeterRegistry registry = context.getBean(MeterRegistry.class);
            context.getBean(RabbitConsumerMeters.class).bindTo(registry);

            assertThat(registry.get("outbox.consumer.messages")
                            .tags("consumer", "stockConsumer", "result", "duplicate")
                            .functionCounter()
                            .count())
                    .isZero();
            assertThat(registry.get("outbox.consumer.consuming").gauge().value())
                    .isZero();
        });
    }

    @Test
    void they_can_be_switched_off() {
        runner.withPropertyValues("outbox.metrics.enabled=false")
                .run(context -> assertThat(context.getBean(MeterRegistry.class).getMeters())
                        .isEmpty());
    }

    @Test
    void wrong_values_are_refused_by_the_name_of_the_property() {
        assertRefused("outbox.metrics.max-topics=0", "between 1 and 10000");
        assertRefused("outbox.metrics.sample-every=0", "between 1ms and 60m");
        assertRefused("outbox.metrics.sample-timeout=2h", "between 1ms and 60m");
    }

    private void assertRefused(String property, String allowed) {
        runner.withPropertyValues(property)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessageContainingAll(property.substring(0, property.indexOf('=')), allowed));
    }
}
