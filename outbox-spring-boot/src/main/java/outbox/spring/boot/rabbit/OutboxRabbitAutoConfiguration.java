package outbox.spring.boot.rabbit;

import com.rabbitmq.client.ConnectionFactory;
import org.springframework.amqp.rabbit.connection.AbstractConnectionFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.AnyNestedCondition;
import org.springframework.boot.autoconfigure.condition.ConditionMessage;
import org.springframework.boot.autoconfigure.condition.ConditionOutcome;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.SpringBootCondition;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.ImportRuntimeHints;
import org.springframework.context.annotation.Lazy;
import org.springframework.core.type.AnnotatedTypeMetadata;
import outbox.dispatch.CircuitBreaker;
import outbox.rabbitmq.MessageFormat;
import outbox.rabbitmq.PublishRefusedException;
import outbox.rabbitmq.RabbitTopology;
import outbox.rabbitmq.RabbitTransport;
import outbox.spring.OutboxTransport;
import outbox.spring.boot.OutboxInstance;
import outbox.spring.boot.internal.ConditionalOnOutbox;

/**
 * Publishes events to RabbitMQ according to the configured routes, through the broker connection of the application,
 * and declares the topologies of the application.
 */
@AutoConfiguration(
        afterName = {
            "org.springframework.boot.autoconfigure.amqp.RabbitAutoConfiguration",
            "org.springframework.boot.amqp.autoconfigure.RabbitAutoConfiguration"
        })
@ConditionalOnOutbox
@ConditionalOnClass({RabbitTransport.class, ConnectionFactory.class})
@ConditionalOnBooleanProperty(name = OutboxRabbitProperties.PREFIX + ".enabled", matchIfMissing = true)
@EnableConfigurationProperties(OutboxRabbitProperties.class)
class OutboxRabbitAutoConfiguration {

    static final String NAME = "rabbitmq";

    @Bean
    RabbitTopologies outboxRabbitTopologies(
            OutboxRabbitProperties settings,
            ObjectProvider<RabbitTopology> topologies,
            ConfigurableListableBeanFactory beans) {
        return new RabbitTopologies(
                topologies.orderedStream().toList(), () -> RabbitAccess.of(beans, settings.connectionFactory()));
    }

    /** Active only if there is a route. Without a route there is no transport and no connection. */
    @Configuration(proxyBeanMethods = false)
    @Conditional(OnRoutes.class)
    static class Routed {

        @Bean
        @ConditionalOnMissingBean
        RabbitBreaker outboxRabbitBreaker(OutboxRabbitProperties settings) {
            return new RabbitBreaker(
                    settings.breaker().enabled()
                            ? CircuitBreaker.named(NAME)
                                    .wait(settings.breaker().openFor())
                                    .ignore(PublishRefusedException.class)
                                    .build()
                            : null);
        }

        /** Lazy, because it connects. A process that only writes does not need it. */
        @Bean
        @Lazy
        @ConditionalOnMissingBean
        RabbitTransport outboxRabbitTransport(
                OutboxRabbitProperties settings,
                RabbitWays ways,
                RabbitBreaker breaker,
                ObjectProvider<MessageFormat> format,
                ConfigurableListableBeanFactory beans) {
            RabbitAccess access = RabbitAccess.of(beans, settings.connectionFactory());
            long outboxes = ways.find(settings).stream()
                    .map(RabbitWay::outbox)
                    .distinct()
                    .count();
            RabbitTransport.Builder builder = RabbitTransport.builder()
                    .name(NAME)
                    .connectionFactory(access.factory())
                    .route(event -> null) // each outbox defines its own routes
                    .format(format.getIfAvailable(() -> formatOf(settings)))
                    .channels(settings.channels())
                    .maxInFlight((int) Math.min(10_000, settings.maxInFlight() * Math.max(1, outboxes)))
                    .confirmTimeout(settings.confirmTimeout())
                    .countOutages(settings.countOutages())
                    .drainTime(settings.drainTime());
            if (access.addresses() != null) {
                builder.addresses(access.addresses());
            }
            if (breaker.breaker() != null) {
                builder.breaker(breaker.breaker());
            }
            return builder.build();
        }

        private static MessageFormat formatOf(OutboxRabbitProperties settings) {
            return settings.format() == OutboxRabbitProperties.Format.CLOUD_EVENTS
                    ? MessageFormat.cloudEvents(settings.source())
                    : MessageFormat.CONTRACT;
        }

        @Bean
        RabbitWays outboxRabbitWays(ConfigurableListableBeanFactory beans) {
            return new RabbitWays(beans);
        }

        @Bean
        RabbitRoutes outboxRabbitRoutes(
                OutboxRabbitProperties settings,
                RabbitWays ways,
                RabbitTopologies topologies,
                RabbitBreaker breaker,
                ObjectProvider<RabbitTransport> transport,
                ObjectProvider<OutboxInstance> outboxes) {
            return new RabbitRoutes(
                    ways.find(settings), settings, transport::getObject, topologies, breaker.breaker(), outboxes);
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(AbstractConnectionFactory.class)
    @ImportRuntimeHints(SpringRabbitAccess.Hints.class)
    static class SpringAmqp {}

    static final class OnRoutes extends AnyNestedCondition {

        OnRoutes() {
            super(ConfigurationPhase.REGISTER_BEAN);
        }

        @Conditional(OnRouteProperties.class)
        static final class ByProperties {}

        @ConditionalOnBean(annotation = OutboxTransport.class)
        static final class ByAnnotation {}

        @ConditionalOnBean(annotation = OutboxTransport.Routes.class)
        static final class BySeveralAnnotations {}
    }

    static final class OnRouteProperties extends SpringBootCondition {

        @Override
        public ConditionOutcome getMatchOutcome(ConditionContext context, AnnotatedTypeMetadata metadata) {
            String property = OutboxRabbitProperties.PREFIX + ".routes";
            boolean isSet = Binder.get(context.getEnvironment())
                    .bind(property, Bindable.listOf(OutboxRabbitProperties.Route.class))
                    .isBound();
            return new ConditionOutcome(
                    isSet, ConditionMessage.forCondition(property).because(isSet ? "set" : "not set"));
        }
    }
}
