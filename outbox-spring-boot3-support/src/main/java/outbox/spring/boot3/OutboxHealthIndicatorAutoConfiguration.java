package outbox.spring.boot3;

import org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import outbox.spring.boot.OutboxHealth;

/** Configures the health indicator of the outboxes on Spring Boot 3.5. It has no effect on other versions. */
@AutoConfiguration(afterName = "outbox.spring.boot.actuate.OutboxHealthAutoConfiguration")
@ConditionalOnClass(name = "org.springframework.boot.actuate.health.HealthIndicator")
@ConditionalOnBean(OutboxHealth.class)
class OutboxHealthIndicatorAutoConfiguration {

    @Bean
    @ConditionalOnMissingBean(name = "outboxHealthIndicator")
    @ConditionalOnEnabledHealthIndicator("outbox")
    HealthIndicator outboxHealthIndicator(OutboxHealth health) {
        return new OutboxHealthIndicator(health);
    }
}
