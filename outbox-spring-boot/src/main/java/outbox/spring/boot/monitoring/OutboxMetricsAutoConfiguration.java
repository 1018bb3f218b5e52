package outbox.spring.boot.monitoring;

import io.micrometer.core.instrument.MeterRegistry;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import outbox.micrometer.OutboxMeters;
import outbox.rabbitmq.RabbitConsumer;
import outbox.spi.Leadership;
import outbox.spring.boot.OutboxInstance;
import outbox.spring.boot.autoconfigure.OutboxAutoConfiguration;
import outbox.spring.boot.internal.ConditionalOnOutbox;
import outbox.spring.boot.internal.OutboxProperties;

/** Registers the meters of the outboxes with the meter registry of the application. */
@AutoConfiguration(
        after = OutboxAutoConfiguration.class,
        afterName = {
            "org.springframework.boot.actuate.autoconfigure.metrics.CompositeMeterRegistryAutoConfiguration",
            "org.springframework.boot.actuate.autoconfigure.metrics.export.simple.SimpleMetricsExportAutoConfiguration",
            "org.springframework.boot.micrometer.metrics.autoconfigure.CompositeMeterRegistryAutoConfiguration",
            "org.springframework.boot.micrometer.metrics.autoconfigure.export.simple.SimpleMetricsExportAutoConfiguration"
        })
@ConditionalOnOutbox
@ConditionalOnBean(OutboxInstance.class)
@ConditionalOnClass({MeterRegistry.class, OutboxMeters.class})
@ConditionalOnSingleCandidate(MeterRegistry.class)
@ConditionalOnBooleanProperty(name = "outbox.metrics.enabled", matchIfMissing = true)
@EnableConfigurationProperties({OutboxMetricsProperties.class, OutboxProperties.class})
class OutboxMetricsAutoConfiguration {

    @Bean
    @ConditionalOnMissingBean(name = "outboxMetricsCustomizer")
    MetricsCustomizer outboxMetricsCustomizer(
            MeterRegistry registry,
            OutboxMetricsProperties properties,
            OutboxProperties outboxes,
            ObjectProvider<OutboxInstance> instances,
            ListableBeanFactory beans) {
        boolean ownLeadership = beans.getBeanNamesForType(Leadership.class, true, false).length > 0;
        return new MetricsCustomizer(registry, properties, outboxes, instances, ownLeadership);
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(RabbitConsumer.class)
    static class Rabbit {

        @Bean
        @ConditionalOnMissingBean
        RabbitConsumerMeters outboxRabbitConsumerMeters(ListableBeanFactory beans) {
            return new RabbitConsumerMeters(() -> beans.getBeansOfType(RabbitConsumer.class));
        }
    }
}
