package outbox.boot;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.amqp.rabbit.annotation.RabbitListener;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.rabbitmq.RabbitQueue;
import outbox.rabbitmq.RabbitTopology;
import outbox.spring.Idempotent;
import outbox.testing.server.RabbitServer;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * From a transaction to RabbitMQ with properties only, with several broker nodes of which one is unavailable, and
 * once into a transaction of the consumer.
 */
@Timeout(120)
@Tag("rabbitmq")
class RabbitRouteTest {

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Shop {

        @Bean
        RabbitTopology topology() {
            return RabbitTopology.builder()
                    .topicExchange("orders")
                    .queue(RabbitQueue.named("bills"))
                    .bind("bills", "orders", "#.created")
                    .build();
        }

        @Bean
        Billing billing(JdbcClient jdbc) {
            return new Billing(jdbc);
        }
    }

    static class Billing {

        private final JdbcClient jdbc;

        Billing(JdbcClient jdbc) {
            this.jdbc = jdbc;
            jdbc.sql("CREATE TABLE bill (message VARCHAR(4000))").update();
        }

        @RabbitListener(queues = "bills")
        @Idempotent(consumer = "billing", key = "headers['order-id']")
        public void bill(byte[] message) {
            jdbc.sql("INSERT INTO bill VALUES (?)")
                    .param(new String(message, StandardCharsets.UTF_8))
                    .update();
        }
    }

    @Test
    void an_event_reaches_a_consumer_by_a_route_of_the_properties() {
        RabbitServer server = RabbitServer.shared();
        try (ConfigurableApplicationContext context = new SpringApplicationBuilder(Shop.class)
                .properties(
                        "spring.main.web-application-type=none",
                        "spring.datasource.generate-unique-name=true",
                        "spring.rabbitmq.addresses=127.0.0.1:1,127.0.0.1:" + server.port(),
                        "spring.rabbitmq.virtual-host=" + server.createVirtualHost(),
                        "outbox.rabbitmq.routes[0].type=order.*",
                        "outbox.rabbitmq.routes[0].exchange=orders",
                        "outbox.rabbitmq.routes[0].routing-key={type}")
                .run()) {
            JdbcClient jdbc = context.getBean(JdbcClient.class);
            int sent = 0;
            for (String id : List.of("7", "7", "8")) { // for the consumer, the second is a duplicate
                write(context, id);
                awaitCount(jdbc, "outbox_event WHERE status = 1", ++sent); // keeps the order in the queue
            }

            awaitCount(jdbc, "bill WHERE message LIKE '%\"aggregateId\":8%'", 1);
            assertThat(jdbc.sql("SELECT COUNT(*) FROM bill")
                            .query(Integer.class)
                            .single())
                    .isEqualTo(2);
        }
    }

    private static void awaitCount(JdbcClient jdbc, String rows, int count) {
        await().atMost(Duration.ofSeconds(30))
                .until(() -> jdbc.sql("SELECT COUNT(*) FROM " + rows)
                                .query(Integer.class)
                                .single()
                        == count);
    }

    private static void write(ConfigurableApplicationContext context, String id) {
        new TransactionTemplate(context.getBean(PlatformTransactionManager.class))
                .executeWithoutResult(status -> context.getBean(OutboxWriter.class)
                        .write(EventEnvelope.builder("order.created")
                                .aggregateType("Order")
                                .aggregateId(id)
                                .headers(Map.of("order-id", id))
                                .payloadJson("{}")
                                .build()));
    }
}
