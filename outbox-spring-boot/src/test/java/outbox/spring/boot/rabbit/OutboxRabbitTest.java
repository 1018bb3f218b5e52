package outbox.spring.boot.rabbit;

import com.rabbitmq.client.ConnectionFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.amqp.core.Message;
import org.springframework.amqp.rabbit.core.RabbitTemplate;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import outbox.EventEnvelope;
import outbox.admin.EventQuery;
import outbox.admin.OutboxAdmin;
import outbox.dispatch.CircuitBreaker;
import outbox.rabbitmq.RabbitQueue;
import outbox.rabbitmq.RabbitTopology;
import outbox.rabbitmq.RabbitTransport;
import outbox.spring.OutboxTransport;
import outbox.spring.boot.Contexts;
import outbox.spring.boot.OutboxInstance;
import outbox.testing.server.RabbitServer;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

@Timeout(120)
@Tag("rabbitmq")
class OutboxRabbitTest {

    private static final String[] ROUTES = {
        "outbox.rabbitmq.routes[0].type=order.*",
        "outbox.rabbitmq.routes[0].exchange=orders",
        "outbox.rabbitmq.routes[0].routing-key={aggregate}.{type}.{header:region}"
    };

    @Configuration(proxyBeanMethods = false)
    static class Topology {
        @Bean
        RabbitTopology topology() {
            return RabbitTopology.builder()
                    .topicExchange("orders")
                    .topicExchange("others")
                    .queue(RabbitQueue.named("placed"))
                    .queue(RabbitQueue.named("other"))
                    .bind("placed", "orders", "Order.order.created.eu")
                    .bind("other", "others", "#")
                    .build();
        }
    }

    private static EventEnvelope event(String type) {
        return EventEnvelope.builder(type)
                .aggregateType("Order")
                .aggregateId("7")
                .headers(Map.of("region", "eu"))
                .payloadJson("{\"a\":1}")
                .build();
    }

    private static Message receive(ApplicationContext context, String queue) {
        Message message = context.getBean(RabbitTemplate.class).receive(queue, 20_000);
        return Objects.requireNonNull(message, "Nothing came to " + queue);
    }

    private static CircuitBreaker breaker(ApplicationContext context) {
        return Objects.requireNonNull(context.getBean(RabbitBreaker.class).breaker());
    }

    @Test
    void an_event_goes_where_its_route_says() {
        Contexts.rabbit()
                .withUserConfiguration(Topology.class)
                .withPropertyValues(ROUTES)
                .run(context -> {
                    EventEnvelope event = event("order.created");

                    Contexts.write(context, event);

                    Message message = receive(context, "placed");
                    assertThat(message.getMessageProperties().getMessageId()).isEqualTo(event.eventId());
                    assertThat(new String(message.getBody(), StandardCharsets.UTF_8))
                            .contains("\"payload\":{\"a\":1}");
                    assertThat(context).hasSingleBean(RabbitTransport.class);
                });
    }

    @Test
    void the_format_of_messages_is_a_property_too() {
        Contexts.rabbit()
                .withUserConfiguration(Topology.class)
                .withPropertyValues(ROUTES)
                .withPropertyValues("outbox.rabbitmq.format=cloud-events", "outbox.rabbitmq.source=/shop")
                .run(context -> {
                    Contexts.write(context, event("order.created"));

                    Message message = receive(context, "placed");
                    assertThat(message.getMessageProperties().getHeaders())
                            .containsEntry("cloudEvents_source", "/shop");
                    assertThat(new String(message.getBody(), StandardCharsets.UTF_8))
                            .isEqualTo("{\"a\":1}");
                });
    }

    @Test
    void all_nodes_of_the_broker_are_known() {
        Contexts.rabbit()
                .withUserConfiguration(Topology.class)
                .withPropertyValues(ROUTES)
                .withPropertyValues("spring.rabbitmq.addresses=127.0.0.1:1,127.0.0.1:"
                        + RabbitServer.shared().port())
                .run(context -> {
                    Contexts.write(context, event("order.created"));

                    assertThat(receive(context, "placed")).isNotNull();
                });
    }

    @Configuration(proxyBeanMethods = false)
    @OutboxTransport(type = "order.created", aggregate = "*", exchange = "others")
    @OutboxTransport(
            type = {"bill.*", "${more.types}"},
            exchange = "others",
            routingKey = "b")
    static class Annotated {}

    @Test
    void annotations_are_routes_that_properties_replace() {
        ApplicationContextRunner annotated = Contexts.rabbit()
                .withUserConfiguration(Topology.class, Annotated.class)
                .withPropertyValues("more.types=invoice.sent");
        annotated.run(context -> {
            Contexts.write(context, event("order.created"));
            Contexts.write(context, event("invoice.sent"));

            assertThat(receive(context, "other")).isNotNull();
            assertThat(receive(context, "other")).isNotNull();
        });
        annotated
                .withPropertyValues(
                        "outbox.rabbitmq.routes[0].type=order.created",
                        "outbox.rabbitmq.routes[0].exchange=orders",
                        "outbox.rabbitmq.routes[0].routing-key=Order.order.created.eu")
                .run(context -> {
                    Contexts.write(context, event("order.created"));

                    assertThat(receive(context, "placed")).isNotNull();
                });
    }

    @Configuration(proxyBeanMethods = false)
    @OutboxTransport(type = "*", exchange = "orders")
    static class One {}

    @Test
    void one_annotation_is_enough() {
        Contexts.rabbit()
                .withUserConfiguration(Topology.class, One.class)
                .run(context -> assertThat(context).hasSingleBean(RabbitTransport.class));
    }

    @Test
    void without_a_route_there_is_no_transport() {
        Contexts.rabbit().run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(RabbitTransport.class));
        Contexts.rabbit()
                .withPropertyValues(ROUTES)
                .withPropertyValues("outbox.rabbitmq.enabled=false")
                .run(context -> assertThat(context)
                        .hasNotFailed()
                        .doesNotHaveBean(RabbitTransport.class)
                        .doesNotHaveBean(RabbitTopologies.class));
    }

    @Test
    void a_process_that_only_writes_does_not_connect() {
        Contexts.rabbit()
                .withPropertyValues(ROUTES)
                .withPropertyValues("outbox.role=writer")
                .run(context -> assertThat(context.getBeanFactory().containsSingleton("outboxRabbitTransport"))
                        .isFalse());
    }

    @Test
    void the_application_starts_while_the_broker_is_away_and_no_attempt_is_lost() {
        Contexts.rabbit()
                .withUserConfiguration(Topology.class)
                .withPropertyValues(ROUTES)
                .withPropertyValues("spring.rabbitmq.port=1")
                .run(context -> {
                    assertThat(context).hasNotFailed();
                    RabbitTransport transport = context.getBean(RabbitTransport.class);
                    assertThat(transport.health().isUp()).isFalse();
                    Contexts.write(context, event("order.created"));

                    CircuitBreaker breaker = breaker(context);
                    await().atMost(Duration.ofSeconds(20)).until(() -> breaker.state() == CircuitBreaker.State.OPEN);
                    OutboxAdmin admin = context.getBean(OutboxAdmin.class);
                    assertThat(admin.find(EventQuery.builder().build()).events())
                            .singleElement()
                            .satisfies(found -> assertThat(found.attempts()).isZero());
                });
    }

    @Test
    void the_settings_of_the_transport_are_those_of_the_properties() {
        Contexts.rabbit()
                .withUserConfiguration(Topology.class)
                .withPropertyValues(ROUTES)
                .withPropertyValues(
                        "outbox.rabbitmq.channels=3",
                        "outbox.rabbitmq.max-in-flight=7",
                        "outbox.rabbitmq.confirm-timeout=11s",
                        "outbox.rabbitmq.drain-time=2s",
                        "outbox.rabbitmq.breaker.open-for=9s")
                .run(context -> {
                    RabbitTransport transport = context.getBean(RabbitTransport.class);
                    assertThat((List<?>) Contexts.field(transport, "lanes")).hasSize(3);
                    assertThat(transport.maxInFlight()).isEqualTo(7);
                    assertThat(Contexts.field(transport, "confirmTimeout")).isEqualTo(Duration.ofSeconds(11));
                    assertThat(Contexts.field(transport, "drainTime")).isEqualTo(Duration.ofSeconds(2));
                    CircuitBreaker breaker = breaker(context);
                    assertThat(Contexts.field(breaker, "wait")).isEqualTo(Duration.ofSeconds(9));
                    assertThat(Contexts.field(transport, "breaker")).isSameAs(breaker);
                    OutboxInstance outbox = context.getBean(OutboxInstance.class);
                    assertThat(Contexts.guarded(context)).hasToString("[rabbitmq]");
                    assertThat(outbox.listeners().entries())
                            .allSatisfy(entry -> assertThat(entry.timeLimit()).isEqualTo(Duration.ofSeconds(21)));
                });
        Contexts.rabbit()
                .withPropertyValues(ROUTES)
                .withPropertyValues("outbox.rabbitmq.breaker.enabled=false")
                .run(context -> assertThat(Contexts.guarded(context)).isEmpty());
    }

    @Configuration(proxyBeanMethods = false)
    static class TwoFactories {
        @Bean
        ConnectionFactory one() {
            return factory(1);
        }

        @Bean
        ConnectionFactory two() {
            return factory(RabbitServer.shared().port());
        }

        private static ConnectionFactory factory(int port) {
            ConnectionFactory factory = new ConnectionFactory();
            factory.setHost("127.0.0.1");
            factory.setPort(port);
            return factory;
        }
    }

    @Test
    void of_several_connection_factories_one_is_named() {
        ApplicationContextRunner two =
                Contexts.rabbit().withUserConfiguration(TwoFactories.class).withPropertyValues(ROUTES);
        two.withPropertyValues("outbox.rabbitmq.connection-factory=two")
                .run(context -> assertThat(
                                context.getBean(RabbitTransport.class).health().isUp())
                        .isTrue());
        two.run(context -> assertThat(context.getStartupFailure())
                .hasStackTraceContaining("[one, two]. Name one by outbox.rabbitmq.connection-factory"));
    }

    @Test
    void routes_without_a_broker_are_refused_with_what_to_add() {
        Contexts.runner()
                .withPropertyValues(ROUTES)
                .run(context -> assertThat(context.getStartupFailure())
                        .rootCause()
                        .hasMessageContaining("spring-boot-starter-amqp"));
    }

    @Test
    void a_route_of_an_outbox_that_is_not_there_is_refused() {
        Contexts.rabbit()
                .withPropertyValues(ROUTES)
                .withPropertyValues("outbox.rabbitmq.routes[0].outbox=billing")
                .run(context -> assertThat(context.getStartupFailure())
                        .hasMessageContaining("outbox.rabbitmq.routes[0]")
                        .hasMessageContaining("'billing'")
                        .hasMessageContaining("default"));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    outbox.rabbitmq.channels=65                   | between 1 and 64
                    outbox.rabbitmq.max-in-flight=0               | between 1 and 10000
                    outbox.rabbitmq.confirm-timeout=11m           | between 1ms and 10m
                    outbox.rabbitmq.count-outages=true            | breaker.enabled is false
                    outbox.rabbitmq.drain-time=-1s                | between 0 and 10m
                    outbox.rabbitmq.breaker.open-for=2d               | between 1ms and 1d
                    outbox.rabbitmq.routes[0].type=               | types of events
                    outbox.rabbitmq.routes[0].aggregate=          | a text
                    outbox.rabbitmq.routes[0].outbox=             | a text
                    outbox.rabbitmq.routes[0].exchange={x}        | {x} is not known
                    outbox.rabbitmq.routes[0].routing-key={header | a brace
                    outbox.rabbitmq.routes[1].type=a              | the name of an exchange
                    """)
    void a_wrong_value_names_the_property_and_what_is_allowed(String property, String allowed) {
        String key = property.substring(0, property.indexOf('='));
        String named = key.equals("outbox.rabbitmq.routes[1].type") ? "outbox.rabbitmq.routes[1].exchange" : key;
        Contexts.rabbit()
                .withPropertyValues(ROUTES)
                .withPropertyValues(property)
                .run(context -> assertThat(context.getStartupFailure())
                        .rootCause()
                        .hasMessageContaining("Property " + named + " is")
                        .hasMessageContaining(allowed));
    }
}
