package outbox.spring.boot;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
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
