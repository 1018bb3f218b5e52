package outbox.spring.boot.actuate;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import outbox.rabbitmq.RabbitTransport;
import outbox.spring.boot.OutboxHealth;
import outbox.spring.boot.OutboxInstance;
import outbox.spring.boot.autoconfigure.OutboxAutoConfiguration;
import outbox.spring.boot.internal.ConditionalOnOutbox;

/** Configures the health of the outboxes. The health indicator for Spring Boot 3.5 is in a separate module. */
@AutoConfiguration(after = OutboxAutoConfiguration.class)
@ConditionalOnOutbox
@ConditionalOnBean(OutboxInstance.class)
@ConditionalOnClass(name = "org.springframework.boot.actuate.endpoint.annotation.Endpoint")
@ConditionalOnBooleanProperty(name = "outbox.health.enabled", matchIfMissing = true)
@EnableConfigurationProperties(OutboxHealthProperties.class)
class OutboxHealthAutoConfiguration {

    @Bean
    @ConditionalOnMissingBean
    OutboxHealth outboxHealth(
            ObjectProvider<OutboxInstance> instances,
            OutboxHealthProperties properties,
            ObjectProvider<HealthDetail> others) {
        return new CheckedHealth(
                () -> instances.orderedStream().toList(),
                properties,
                () -> others.orderedStream().toList());
    }

    /** The health indicator for Spring Boot 4. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = "org.springframework.boot.health.contributor.HealthIndicator")
    static class Indicator {

        @Bean
        @ConditionalOnMissingBean(name = "outboxHealthIndicator")
        @ConditionalOnEnabledHealthIndicator("outbox")
        HealthIndicator outboxHealthIndicator(OutboxHealth health) {
            return new OutboxHealthIndicator(health);
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(RabbitTransport.class)
    static class Rabbit {

        @Bean
        @ConditionalOnMissingBean
        RabbitHealthDetail outboxRabbitHealthDetail(ObjectProvider<RabbitTransport> transports) {
            return new RabbitHealthDetail(() -> transports.orderedStream().toList());
        }
    }
}
