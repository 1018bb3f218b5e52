package outbox.samples.market;

import com.rabbitmq.client.ConnectionFactory;
import io.micrometer.core.instrument.MeterRegistry;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.simple.JdbcClient;
import outbox.inbox.Inbox;
import outbox.rabbitmq.DeadLetters;
import outbox.rabbitmq.RabbitHealth;
import outbox.rabbitmq.RabbitTransport;
import tools.jackson.databind.json.JsonMapper;

import java.util.List;
import java.util.Map;

/** Configures the broker: topology, consumers and dead-letter queues. */
@Configuration(proxyBeanMethods = false)
class RabbitConfiguration {

    private static final int CONNECT_LIMIT_MILLIS = 5_000;

    @Bean
    ConnectionFactory broker(RabbitSettings settings, OrderTimeoutSettings timeout) {
        ConnectionFactory broker = new ConnectionFactory();
        broker.setHost(settings.host());
        broker.setPort(settings.port());
        broker.setVirtualHost(settings.virtualHost());
        broker.setUsername(settings.username());
        broker.setPassword(settings.password());
        broker.setConnectionTimeout(CONNECT_LIMIT_MILLIS);
        MarketTopology.declare(broker, timeout.timeout()); // before any component uses the broker
        return broker;
    }

    /** Defines the message format. The routes in {@code application.properties} define the destinations. */
    @Bean
    OrderMessageFormat messageFormat() {
        return new OrderMessageFormat();
    }

    @Bean
    DeadLetters deadLetters(ConnectionFactory broker) {
        return DeadLetters.of(broker, MarketTopology.DEAD_LETTER_QUEUE);
    }

    @Bean(initMethod = "start")
    OrderConsumers orderConsumers(
            List<OrderConsumer> consumers,
            ConnectionFactory broker,
            RabbitSettings rabbit,
            ConsumerSettings settings,
            Inbox inbox,
            JdbcClient jdbc,
            JsonMapper json,
            MeterRegistry registry) {
        OrderConsumers all = new OrderConsumers(consumers, broker, rabbit, settings, inbox, jdbc, json);
        all.bindTo(registry);
        return all;
    }

    @Bean
    HealthIndicator rabbitHealth(RabbitTransport transport, OrderConsumers consumers) {
        return () -> {
            RabbitHealth health = transport.health();
            Map<String, String> troubles = consumers.troubles();
            Health.Builder answer = health.isUp() && troubles.isEmpty() ? Health.up() : Health.down();
            return answer.withDetail("transport", health.toString())
                    .withDetail("troubles", troubles)
                    .build();
        };
    }
}
