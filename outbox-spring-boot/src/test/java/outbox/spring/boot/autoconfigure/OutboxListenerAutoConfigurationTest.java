package outbox.spring.boot.autoconfigure;

import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionTemplate;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.TransactionStateException;
import outbox.spring.Attempt;
import outbox.spring.Header;
import outbox.spring.Outbox;
import outbox.spring.OutboxEvent;
import outbox.spring.OutboxEventWriter;
import outbox.spring.OutboxListener;
import outbox.spring.OutboxListenerMethods;

import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class OutboxListenerAutoConfigurationTest {

    @OutboxEvent(type = "order.placed", aggregate = "Order", aggregateId = "id")
    record OrderPlaced(String id, int cents) {}

    @OutboxEvent(type = "billed", outbox = "billing")
    record Billed(String id) {}

    static class Mail {
        private final BlockingQueue<Object> got = new LinkedBlockingQueue<>();

        /** A method, because a proxy does not have the field values. */
        public BlockingQueue<Object> got() {
            return got;
        }

        @Transactional
        @OutboxListener
        public void placed(OrderPlaced order, EventEnvelope event, @Header("source") String source, @Attempt int no) {
            got.add(List.of(order, event.aggregateType(), String.valueOf(source), no));
        }
    }

    static class Billing {
        final BlockingQueue<Object> got = new LinkedBlockingQueue<>();

        @OutboxListener(outbox = "billing")
        void billed(Billed billed) {
            got.add(billed);
        }

        @OutboxListener(type = "billed", outbox = "orders")
        void inOrders(EventEnvelope event) {
            got.add("orders");
        }
    }

    /**
     * The declared type hides the listener methods. They are found anyway, because the outbox asks when
     * all beans exist.
     */
    @Configuration(proxyBeanMethods = false)
    static class DeclaredAsObject {
        @Bean
        Object mail() {
            return new Mail();
        }
    }

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withPropertyValues("spring.datasource.generate-unique-name=true")
            .withConfiguration(AutoConfigurations.of(
                    DataSourceAutoConfiguration.class,
                    DataSourceTransactionManagerAutoConfiguration.class,
                    TransactionAutoConfiguration.class,
                    OutboxAutoConfiguration.class,
                    OutboxPayloadAutoConfiguration.class,
                    OutboxListenerAutoConfiguration.class,
                    OutboxEventAutoConfiguration.class));

    @Test
    void an_annotated_method_of_a_transactional_bean_gets_what_was_written() {
        runner.withBean(Mail.class).run(context -> {
            inTransaction(
                    context,
                    () -> context.getBean(OutboxWriter.class)
                            .write(EventEnvelope.builder("order.placed")
                                    .aggregateType("Order")
                                    .header("source", "web")
                                    .payloadJson("{\"id\":\"7\",\"cents\":5}")
                                    .build()));

            assertThat(next(context.getBean(Mail.class).got()))
                    .isEqualTo(List.of(new OrderPlaced("7", 5), "Order", "web", 1));
        });
    }

    @Test
    void a_published_object_is_delivered_if_its_transaction_commits() {
        runner.withUserConfiguration(DeclaredAsObject.class).run(context -> {
            inTransaction(context, () -> context.publishEvent(new OrderPlaced("8", 6)));

            assertThat(next(((Mail) context.getBean("mail")).got()))
                    .isEqualTo(List.of(new OrderPlaced("8", 6), "Order", "null", 1));
            assertThatThrownBy(() -> context.publishEvent(new OrderPlaced("9", 1)))
                    .isInstanceOf(TransactionStateException.class);
        });
    }

    @Test
    void each_outbox_has_its_own_listeners_and_events() {
        runner.withBean(Billing.class)
                .withPropertyValues(
                        "outbox.named.orders.table=orders_outbox", "outbox.named.billing.table=bills_outbox")
                .run(context -> {
                    inTransaction(context, () -> context.publishEvent(new Billed("7")));

                    assertThat(next(context.getBean(Billing.class).got)).isEqualTo(new Billed("7"));
                    assertThatThrownBy(
                                    () -> inTransaction(context, () -> context.publishEvent(new OrderPlaced("9", 1))))
                            .isInstanceOf(IllegalStateException.class)
                            .hasMessageContaining("outbox '" + Outbox.DEFAULT + "'");
                });
    }

    @Test
    void a_listener_of_an_outbox_that_only_writes_here_is_no_mistake() {
        runner.withBean(Billing.class)
                .withPropertyValues(
                        "outbox.named.orders.table=orders_outbox",
                        "outbox.named.orders.role=writer",
                        "outbox.named.billing.table=bills_outbox")
                .run(context -> {
                    inTransaction(context, () -> context.publishEvent(new Billed("7")));

                    assertThat(next(context.getBean(Billing.class).got)).isEqualTo(new Billed("7"));
                });
    }

    static class Typo {
        @OutboxListener(type = "x", outbox = "oders")
        void on() {}
    }

    @Test
    void a_listener_of_an_outbox_that_does_not_exist_fails_the_start() {
        runner.withBean(Typo.class)
                .run(context -> assertThat(context)
                        .getFailure()
                        .hasMessageContaining("Typo.on")
                        .hasMessageContaining("oders"));
    }

    @Test
    void a_typed_payload_without_a_json_library_fails_the_start() {
        runner.withBean(Billing.class)
                .withClassLoader(new FilteredClassLoader("tools.jackson", "com.fasterxml.jackson"))
                .run(context -> assertThat(context)
                        .getFailure()
                        .hasStackTraceContaining("Billing.billed")
                        .hasStackTraceContaining("there is no PayloadCodec"));
    }

    @Test
    void both_can_be_switched_off() {
        runner.withPropertyValues("outbox.listener.enabled=false")
                .run(context -> assertThat(context)
                        .doesNotHaveBean(OutboxListenerMethods.class)
                        .hasSingleBean(OutboxEventWriter.class));
        runner.withPropertyValues("outbox.event.enabled=false")
                .run(context -> assertThat(context)
                        .hasSingleBean(OutboxListenerMethods.class)
                        .doesNotHaveBean(OutboxEventWriter.class));
        runner.withPropertyValues("outbox.enabled=false")
                .run(context -> assertThat(context)
                        .doesNotHaveBean(OutboxListenerMethods.class)
                        .doesNotHaveBean(OutboxEventWriter.class));
    }

    private static void inTransaction(ApplicationContext context, Runnable work) {
        new TransactionTemplate(context.getBean(PlatformTransactionManager.class))
                .executeWithoutResult(status -> work.run());
    }

    private static Object next(BlockingQueue<Object> queue) throws InterruptedException {
        Object next = queue.poll(20, TimeUnit.SECONDS);
        assertThat(next).isNotNull();
        return next;
    }
}
