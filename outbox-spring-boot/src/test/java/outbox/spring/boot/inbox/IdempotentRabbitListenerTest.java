package outbox.spring.boot.inbox;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.amqp.core.Message;
import org.springframework.amqp.core.MessageProperties;
import org.springframework.amqp.core.Queue;
import org.springframework.amqp.core.QueueBuilder;
import org.springframework.amqp.rabbit.annotation.RabbitListener;
import org.springframework.amqp.rabbit.core.RabbitTemplate;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.transaction.annotation.Transactional;
import outbox.spring.Idempotent;
import outbox.spring.boot.Contexts;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

@Timeout(120)
@Tag("rabbitmq")
class IdempotentRabbitListenerTest {

    static class Billing {

        private final AtomicInteger calls = new AtomicInteger();
        private final JdbcClient jdbc;

        Billing(JdbcClient jdbc) {
            this.jdbc = jdbc;
            jdbc.sql("CREATE TABLE bill (id VARCHAR(50))").update();
        }

        public int calls() {
            return calls.get();
        }

        /** Its arguments contain neither the message nor its id. */
        @RabbitListener(queues = "orders")
        @Idempotent(consumer = "billing")
        @Transactional
        public void bill(String order) {
            jdbc.sql("INSERT INTO bill VALUES (?)").param(order).update();
            if (calls.incrementAndGet() == 1 && order.equals("crash")) {
                throw new IllegalStateException("between the effect and its commit");
            }
        }

        @RabbitListener(queues = "by-header")
        @Idempotent(consumer = "billing", key = "headers['order-id']")
        public void byHeader(Message message) {
            jdbc.sql("INSERT INTO bill VALUES ('by-header')").update();
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class App {
        @Bean
        Billing billing(JdbcClient jdbc) {
            return new Billing(jdbc);
        }

        @Bean
        Queue orders() {
            return QueueBuilder.durable("orders")
                    .deadLetterExchange("")
                    .deadLetterRoutingKey("dead")
                    .build();
        }

        @Bean
        Queue byHeader() {
            return new Queue("by-header");
        }

        @Bean
        Queue dead() {
            return new Queue("dead");
        }
    }

    private static void send(ApplicationContext context, String queue, @Nullable String id, String text) {
        MessageProperties properties = new MessageProperties();
        properties.setContentType("text/plain");
        properties.setMessageId(id);
        properties.setHeader("order-id", text);
        context.getBean(RabbitTemplate.class)
                .send(queue, new Message(text.getBytes(StandardCharsets.UTF_8), properties));
    }

    private static int bills(ApplicationContext context) {
        return context.getBean(JdbcClient.class)
                .sql("SELECT COUNT(*) FROM bill")
                .query(Integer.class)
                .single();
    }

    private static void awaitBills(ApplicationContext context, int count) {
        await().atMost(Duration.ofSeconds(20)).until(() -> bills(context) == count);
    }

    @Test
    void a_message_takes_effect_once_however_often_it_comes() {
        Contexts.rabbit().withUserConfiguration(App.class).run(context -> {
            send(context, "orders", "m1", "one");
            send(context, "orders", "m1", "one");
            send(context, "orders", "m2", "last");

            awaitBills(context, 2);
            assertThat(context.getBean(Billing.class).calls()).isEqualTo(2);
        });
    }

    @Test
    void what_failed_after_its_effect_left_none_and_comes_again() {
        Contexts.rabbit().withUserConfiguration(App.class).run(context -> {
            send(context, "orders", "m1", "crash");

            awaitBills(context, 1);
            assertThat(context.getBean(Billing.class).calls()).isEqualTo(2);
        });
    }

    @Test
    void the_key_may_be_a_header() {
        Contexts.rabbit().withUserConfiguration(App.class).run(context -> {
            send(context, "by-header", "m1", "o1");
            send(context, "by-header", "m2", "o1");
            send(context, "by-header", "m3", "o2");

            awaitBills(context, 2);
        });
    }

    @Test
    void a_message_without_an_id_is_a_dead_letter() {
        Contexts.rabbit().withUserConfiguration(App.class).run(context -> {
            send(context, "orders", null, "nameless");

            assertThat(context.getBean(RabbitTemplate.class).receive("dead", 20_000))
                    .isNotNull();
            assertThat(bills(context)).isZero();
        });
    }

    @Test
    void a_message_whose_id_the_inbox_cannot_remember_is_a_dead_letter_and_a_long_one_takes_effect_once() {
        Contexts.rabbit().withUserConfiguration(App.class).run(context -> {
            send(context, "orders", "m1 ", "spaced");
            assertThat(context.getBean(RabbitTemplate.class).receive("dead", 20_000))
                    .isNotNull();

            send(context, "orders", "m".repeat(255), "long");
            send(context, "orders", "m".repeat(255), "long");
            send(context, "orders", "m2", "last");

            awaitBills(context, 2);
            assertThat(context.getBean(Billing.class).calls()).isEqualTo(2);
        });
    }

    /** With retries inside the container, a message that keeps failing is rejected. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "spring.rabbitmq.listener.simple.default-requeue-rejected=false",
                "spring.rabbitmq.listener.simple.retry.enabled=true"
            })
    void an_inbox_that_cannot_do_its_part_has_the_message_come_again_whatever_the_container_does_with_failures(
            String setting) {
        Contexts.rabbit()
                .withUserConfiguration(App.class)
                .withPropertyValues(setting, "spring.rabbitmq.listener.simple.retry.initial-interval=10ms")
                .run(context -> {
                    JdbcClient jdbc = context.getBean(JdbcClient.class);
                    jdbc.sql("ALTER TABLE outbox_inbox RENAME TO away").update();
                    send(context, "orders", "m1", "one");
                    assertThat(context.getBean(RabbitTemplate.class).receive("dead", 1_000))
                            .isNull();

                    jdbc.sql("ALTER TABLE away RENAME TO outbox_inbox").update();

                    awaitBills(context, 1);
                });
    }
}
