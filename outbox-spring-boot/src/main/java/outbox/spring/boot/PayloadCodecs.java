package outbox.spring.boot;

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

/** The codecs there may be. Not inside the auto-configuration that imports them: Spring would take its members in an order of its own. */
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

        /** Mappers of YAML and CBOR are of this class too. */
        private static boolean isJson(ObjectMapper mapper) {
            @Nullable String format = mapper.getFactory().getFormatName(); // null if a factory does not say
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
