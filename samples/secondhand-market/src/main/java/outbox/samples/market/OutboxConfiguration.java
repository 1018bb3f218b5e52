package outbox.samples.market;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * Settings of the outbox that the specification requires and that are not available as properties of the starter.
 * All other settings are in {@code application.properties}.
 */
@Configuration(proxyBeanMethods = false)
class OutboxConfiguration {

    @Bean
    SendAlert sendAlert(DispatcherSettings settings, @Value("${outbox.retry.max-attempts}") int maxAttempts) {
        if (settings.maxAttempts() != maxAttempts) {
            throw new IllegalArgumentException("outbox.dispatcher.retry-delays has "
                    + settings.retryDelays().size() + " waits, so outbox.retry.max-attempts must be "
                    + settings.maxAttempts() + ", not " + maxAttempts);
        }
        return new SendAlert(maxAttempts);
    }
}
