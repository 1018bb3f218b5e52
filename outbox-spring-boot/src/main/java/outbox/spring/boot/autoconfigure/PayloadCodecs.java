package outbox.spring.boot.autoconfigure;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import outbox.jackson.JacksonPayloadCodec;
import outbox.jackson3.Jackson3PayloadCodec;
import outbox.payload.PayloadCodec;
import tools.jackson.databind.json.JsonMapper;

/**
 * The possible codecs. They are not nested in the auto-configuration that imports them, because Spring would process
 * nested classes in a different order.
 */
final class PayloadCodecs {

    private PayloadCodecs() {}

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({JsonMapper.class, Jackson3PayloadCodec.class})
    @ConditionalOnSingleCandidate(JsonMapper.class)
    static class ByMapperOfJackson3 {

        @Bean
        @ConditionalOnMissingBean
        PayloadCodec outboxPayloadCodec(JsonMapper mapper) {
            return new Jackson3PayloadCodec(mapper);
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass({ObjectMapper.class, JacksonPayloadCodec.class})
    @ConditionalOnSingleCandidate(ObjectMapper.class)
    static class ByMapperOfJackson2 {

        @Bean
        @ConditionalOnMissingBean
        PayloadCodec outboxPayloadCodec(ObjectMapper mapper) {
            return isJson(mapper) ? new JacksonPayloadCodec(mapper) : new JacksonPayloadCodec();
        }

        /** Mappers for YAML and CBOR have the same class. */
        private static boolean isJson(ObjectMapper mapper) {
            // null if the factory does not report a format
            @Nullable String format = mapper.getFactory().getFormatName();
            return format == null || format.equals(JsonFactory.FORMAT_NAME_JSON);
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
