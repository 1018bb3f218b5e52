package outbox.samples.market;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

import java.time.Duration;

/**
 * How consumers go on after a failure, and how the queues are watched.
 *
 * @param maxRedeliveries how often a message comes again before it goes to the dead letters
 * @param redeliveryDelay how long it waits for the first time; each time twice as long
 * @param sampleInterval how often the depth of the queues is read
 */
@ConfigurationProperties("market.consumers")
record ConsumerSettings(
        @DefaultValue("3") int maxRedeliveries,
        @DefaultValue("1s") Duration redeliveryDelay,
        @DefaultValue("5s") Duration sampleInterval) {}
