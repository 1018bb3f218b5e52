package outbox.samples.market;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

import java.time.Duration;

/**
 * Settings of redeliveries and of the queue monitoring.
 *
 * @param maxRedeliveries how often a message is redelivered before it goes to the dead-letter queue
 * @param redeliveryDelay the delay of the first redelivery; it doubles each time
 * @param sampleInterval how often the depth of the queues is read
 */
@ConfigurationProperties("market.consumers")
record ConsumerSettings(
        @DefaultValue("3") int maxRedeliveries,
        @DefaultValue("1s") Duration redeliveryDelay,
        @DefaultValue("5s") Duration sampleInterval) {}
