package outbox.spring.boot.inbox;

import org.springframework.amqp.rabbit.config.AbstractRabbitListenerContainerFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.util.function.SingletonSupplier;
import outbox.inbox.Inbox;
import outbox.spring.boot.OutboxInstance;
import outbox.spring.boot.autoconfigure.OutboxAutoConfiguration;
import outbox.spring.boot.internal.ConditionalOnOutbox;
import outbox.spring.boot.internal.OutboxFactory;

import java.util.List;
import java.util.function.Supplier;

/**
 * Configures the inbox and the methods with {@code @Idempotent}. The table is required as soon as the inbox is used.
 */
@AutoConfiguration(after = OutboxAutoConfiguration.class)
@ConditionalOnOutbox
@EnableConfigurationProperties(OutboxInboxProperties.class)
class OutboxInboxAutoConfiguration {

    /** Defined even if the inbox is disabled, because an annotation must not be ignored silently. */
    @Bean
    static IdempotentPostProcessor outboxIdempotentPostProcessor(
            ConfigurableListableBeanFactory beans,
            ObjectProvider<Inbox> inbox,
            ObjectProvider<InboxParts> table,
            ObjectProvider<IncomingMessages> sources) {
        Supplier<Inbox> found = SingletonSupplier.of(() -> found(inbox));
        Supplier<List<IncomingMessages>> messages =
                SingletonSupplier.of(() -> sources.orderedStream().toList());
        IdempotentAdvice advice =
                new IdempotentAdvice(found, messages, text -> String.valueOf(beans.resolveEmbeddedValue(text)));
        return new IdempotentPostProcessor(advice, found, table);
    }

    private static Inbox found(ObjectProvider<Inbox> inbox) {
        return inbox.getIfAvailable(() -> {
            throw new IllegalStateException("@Idempotent methods need an inbox, and there is none: "
                    + OutboxInboxProperties.PREFIX + ".enabled is false, or the application has no outbox.");
        });
    }

    @Bean
    static DeliveredEvent outboxDeliveredEvent() {
        return new DeliveredEvent();
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(AbstractRabbitListenerContainerFactory.class)
    static class Rabbit {

        @Bean
        static ReceivedRabbitMessage outboxReceivedRabbitMessage() {
            return new ReceivedRabbitMessage();
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnBooleanProperty(name = OutboxInboxProperties.PREFIX + ".enabled", matchIfMissing = true)
    @ConditionalOnBean(OutboxInstance.class)
    static class Jdbc {

        @Bean
        @Lazy
        @ConditionalOnMissingBean(Inbox.class)
        InboxParts outboxInboxParts(
                ConfigurableListableBeanFactory beans,
                OutboxInboxProperties settings,
                ObjectProvider<OutboxInstance> outboxes,
                OutboxFactory factory) {
            return InboxParts.of(beans, settings, outboxes, factory);
        }

        @Bean
        @Lazy
        @ConditionalOnMissingBean
        @ConditionalOnBean(InboxParts.class)
        Inbox outboxInbox(InboxParts parts) {
            return parts.inbox();
        }

        @Bean
        @ConditionalOnBean(InboxParts.class)
        @ConditionalOnProperty(OutboxInboxProperties.PREFIX + ".retention")
        InboxPurge outboxInboxPurge(InboxParts parts, OutboxInboxProperties settings) {
            return new InboxPurge(parts.table(), settings);
        }
    }
}
