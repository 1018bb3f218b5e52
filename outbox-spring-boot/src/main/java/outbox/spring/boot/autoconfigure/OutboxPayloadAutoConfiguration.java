package outbox.spring.boot.autoconfigure;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import outbox.payload.PayloadCodec;
import outbox.payload.PayloadTypes;
import outbox.spring.PayloadTypesCustomizer;
import outbox.spring.boot.internal.ConditionalOnOutbox;

/**
 * Configures the codec that converts payloads to Java types. It uses the JSON mapper of the application if there is
 * exactly one or one is primary, and prefers Jackson 3 over Jackson 2. Otherwise it creates its own mapper.
 */
@AutoConfiguration(
        afterName = {
            "org.springframework.boot.autoconfigure.jackson.JacksonAutoConfiguration",
            "org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration",
            "org.springframework.boot.jackson2.autoconfigure.Jackson2AutoConfiguration"
        })
@ConditionalOnOutbox
@ConditionalOnBooleanProperty(name = "outbox.payload.enabled", matchIfMissing = true)
@Import({ // the first that matches creates the codec
    PayloadCodecs.ByMapperOfJackson3.class,
    PayloadCodecs.ByMapperOfJackson2.class,
    PayloadCodecs.ByJackson3.class,
    PayloadCodecs.ByJackson2.class
})
final class OutboxPayloadAutoConfiguration {

    @Bean
    @ConditionalOnBean(PayloadCodec.class)
    @ConditionalOnMissingBean
    static PayloadTypes outboxPayloadTypes(PayloadCodec codec, ObjectProvider<PayloadTypesCustomizer> customizers) {
        PayloadTypes.Builder types = PayloadTypes.builder(codec);
        customizers.orderedStream().forEach(customizer -> customizer.customize(types));
        return types.build();
    }
}
