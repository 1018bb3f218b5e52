package outbox.spring.boot.monitoring;

import org.slf4j.MDC;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.core.annotation.Order;
import outbox.dispatch.OutboxDispatcher;
import outbox.spring.boot.OutboxCustomizer;
import outbox.spring.boot.OutboxInstance;
import outbox.spring.boot.autoconfigure.OutboxAutoConfiguration;
import outbox.spring.boot.internal.ConditionalOnOutbox;

/** Adds the event to the log lines of its listener. */
@AutoConfiguration(after = OutboxAutoConfiguration.class)
@ConditionalOnOutbox
@ConditionalOnBean(OutboxInstance.class)
@ConditionalOnClass(MDC.class)
@ConditionalOnBooleanProperty(name = "outbox.logging.mdc", matchIfMissing = true)
@EnableConfigurationProperties(OutboxLoggingProperties.class)
class OutboxLoggingAutoConfiguration {

    @Bean
    @Order(OutboxTracingAutoConfiguration.TRACING_ORDER + 1)
    @ConditionalOnMissingBean(name = "outboxLoggingCustomizer")
    OutboxCustomizer outboxLoggingCustomizer() {
        return new OutboxCustomizer() {
            @Override
            public void dispatcher(String outbox, OutboxDispatcher.Builder builder) {
                builder.interceptor(new LoggedEvent());
            }
        };
    }
}
