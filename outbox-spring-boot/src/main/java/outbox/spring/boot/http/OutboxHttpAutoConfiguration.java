package outbox.spring.boot.http;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.ssl.SslBundles;
import org.springframework.context.annotation.Bean;
import outbox.http.HttpTransport;
import outbox.spring.boot.OutboxInstance;
import outbox.spring.boot.internal.ConditionalOnOutbox;

/** Configures the delivery of events to HTTP endpoints. */
@AutoConfiguration
@ConditionalOnOutbox
@ConditionalOnClass(HttpTransport.class)
@ConditionalOnBooleanProperty(name = OutboxHttpProperties.PREFIX + ".enabled", matchIfMissing = true)
@EnableConfigurationProperties(OutboxHttpProperties.class)
class OutboxHttpAutoConfiguration {

    @Bean
    @ConditionalOnMissingBean
    HttpEndpoints outboxHttpEndpoints(
            OutboxHttpProperties settings,
            ObjectProvider<SslBundles> bundles,
            ObjectProvider<OutboxInstance> outboxes) {
        return new HttpEndpoints(settings, bundles, outboxes);
    }
}
