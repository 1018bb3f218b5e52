package outbox.spring.boot.autoconfigure;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import outbox.payload.PayloadCodec;
import outbox.payload.PayloadTypes;
import outbox.spring.OutboxListenerMethods;
import outbox.spring.boot.OutboxInstance;
import outbox.spring.boot.internal.ConditionalOnOutbox;

import java.util.stream.Collectors;

/** Configures the delivery to methods with {@code @OutboxListener}. */
@AutoConfiguration(after = {OutboxAutoConfiguration.class, OutboxPayloadAutoConfiguration.class})
@ConditionalOnOutbox
@ConditionalOnBooleanProperty(name = "outbox.listener.enabled", matchIfMissing = true)
@ConditionalOnBean(OutboxInstance.class)
final class OutboxListenerAutoConfiguration {

    @Bean
    @ConditionalOnMissingBean
    static OutboxListenerMethods outboxListenerMethods(
            ObjectProvider<PayloadCodec> codecs,
            ObjectProvider<PayloadTypes> types,
            ObjectProvider<OutboxInstance> outboxes) {
        return methods(codecs, types)
                .outboxes(() -> outboxes.stream().map(OutboxInstance::name).collect(Collectors.toSet()));
    }

    private static OutboxListenerMethods methods(
            ObjectProvider<PayloadCodec> codecs, ObjectProvider<PayloadTypes> types) {
        @Nullable PayloadCodec codec = codecs.getIfAvailable();
        @Nullable PayloadTypes registered = types.getIfAvailable();
        if (codec == null) {
            return new OutboxListenerMethods();
        }
        return registered == null ? new OutboxListenerMethods(codec) : new OutboxListenerMethods(codec, registered);
    }
}
