package outbox.spring.boot.monitoring;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import outbox.spring.boot.internal.PropertyCheck;

import java.time.Duration;

/**
 * Settings of the meters.
 *
 * @param enabled whether there are meters
 * @param backlog whether there are gauges about the table; the table is read when the gauges are scraped
 * @param maxTopics how many event types have their own series, 1 to 10000; further types share one series
 * @param sampleEvery the shortest time between two reads of the table, 1ms to 1h
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
