package outbox.spring.boot.actuate;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import outbox.spring.boot.OutboxInstance;
import outbox.spring.boot.autoconfigure.OutboxAutoConfiguration;
import outbox.spring.boot.internal.ConditionalOnOutbox;

/** Configures the actuator endpoint {@code outbox}. */
@AutoConfiguration(after = OutboxAutoConfiguration.class)
@ConditionalOnOutbox
@ConditionalOnBean(OutboxInstance.class)
@ConditionalOnClass(ConditionalOnAvailableEndpoint.class)
@ConditionalOnAvailableEndpoint(endpoint = OutboxEndpoint.class)
@ConditionalOnBooleanProperty(name = "outbox.endpoint.enabled", matchIfMissing = true)
@EnableConfigurationProperties(OutboxEndpointProperties.class)
class OutboxEndpointAutoConfiguration {

    @Bean
    @ConditionalOnMissingBean
    OutboxOperations outboxOperations(ObjectProvider<OutboxInstance> instances, OutboxEndpointProperties properties) {
        return new OutboxOperations(() -> instances.orderedStream().toList(), properties);
    }

    @Bean
    @ConditionalOnMissingBean
    OutboxEndpoint outboxEndpoint(OutboxOperations operations) {
        return new OutboxEndpoint(operations);
    }

    @Bean
    @ConditionalOnMissingBean
    OutboxWebEndpoint outboxWebEndpoint(OutboxOperations operations) {
        return new OutboxWebEndpoint(operations);
    }
}
