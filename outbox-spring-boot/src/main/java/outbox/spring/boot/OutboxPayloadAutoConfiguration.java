package outbox.spring.boot;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import outbox.jackson.JacksonPayloadCodec;
import outbox.jackson3.Jackson3PayloadCodec;
import outbox.payload.PayloadCodec;
import outbox.payload.PayloadTypes;
import outbox.spring.PayloadTypesCustomizer;
import tools.jackson.databind.json.JsonMapper;

/** Payloads as Java types: by the application's mapper, of Jackson 3 before Jackson 2, else by one of our own. */
@AutoConfiguration(
        afterName = {
            "org.springframework.boot.autoconfigure.jackson.JacksonAutoConfiguration",
            "org.springframework.boot.jackson.autoconfigure.JacksonAutoConfiguration",
            "org.springframework.boot.jackson2.autoconfigure.Jackson2AutoConfiguration"
        })
@ConditionalOnOutbox
@ConditionalOnBooleanProperty(name = "outbox.payload.enabled", matchIfMissing = true)
@Import({ // the first that fits makes the codec
    OutboxPayloadAutoConfiguration.ByMapperOfJackson3.class,
    OutboxPayloadAutoConfiguration.ByMapperOfJackson2.class,
    OutboxPayloadAutoConfiguration.ByJackson3.class,
    OutboxPayloadAutoConfiguration.ByJackson2.class
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

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({JsonMapper.class, Jackson3PayloadCodec.class})
    @ConditionalOnBean(JsonMapper.class)
    static class ByMapperOfJackson3 {

        @Bean
        @ConditionalOnMissingBean
        PayloadCodec outboxPayloadCodec(JsonMapper mapper) {
            return new Jackson3PayloadCodec(mapper);
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({ObjectMapper.class, JacksonPayloadCodec.class})
    @ConditionalOnBean(ObjectMapper.class)
    static class ByMapperOfJackson2 {

        @Bean
        @ConditionalOnMissingBean
        PayloadCodec outboxPayloadCodec(ObjectMapper mapper) {
            return new JacksonPayloadCodec(mapper);
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({JsonMapper.class, Jackson3PayloadCodec.class})
    static class ByJackson3 {

        @Bean
        @ConditionalOnMissingBean
        PayloadCodec outboxPayloadCodec() {
            return new Jackson3PayloadCodec();
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({ObjectMapper.class, JacksonPayloadCodec.class})
    static class ByJackson2 {

        @Bean
        @ConditionalOnMissingBean
        PayloadCodec outboxPayloadCodec() {
            return new JacksonPayloadCodec();
        }
    }
}
