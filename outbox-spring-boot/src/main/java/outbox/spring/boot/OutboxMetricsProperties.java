package outbox.spring.boot;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

import java.time.Duration;

/**
 * The meters of the outboxes.
 *
 * @param enabled whether there are meters
 * @param backlog whether there are gauges about the table, which is read for them when somebody asks
 * @param maxTopics how many event types have series of their own, 1 to 10000; further ones are counted together
 * @param sampleEvery how often the table is read at most, 1ms to 1h
 * @param sampleTimeout how long a scrape waits for the table, 1ms to 1h
 */
@ConfigurationProperties("outbox.metrics")
record OutboxMetricsProperties(
        @DefaultValue("true") boolean enabled,
        @DefaultValue("true") boolean backlog,
        @DefaultValue("100") int maxTopics,
        @DefaultValue("10s") Duration sampleEvery,
        @DefaultValue("2s") Duration sampleTimeout) {

    OutboxMetricsProperties {
        PropertyCheck check = PropertyCheck.of("outbox.metrics");
        check.between("max-topics", maxTopics, 1, 10_000);
        check.between("sample-every", sampleEvery, Duration.ofMillis(1), Duration.ofHours(1));
        check.between("sample-timeout", sampleTimeout, Duration.ofMillis(1), Duration.ofHours(1));
    }
}
