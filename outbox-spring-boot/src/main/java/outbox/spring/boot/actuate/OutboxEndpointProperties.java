package outbox.spring.boot.actuate;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import outbox.spring.boot.internal.PropertyCheck;

import java.time.Duration;

/**
 * Settings of the actuator endpoint {@code outbox}.
 *
 * @param enabled whether the endpoint exists; it must also be exposed with management.endpoints.web.exposure.include
 * @param writesEnabled whether the endpoint may pause, resume, replay and discard
 * @param showPayload when the endpoint shows payloads and header values: never or always
 * @param timeout how long the endpoint waits for the numbers of an outbox, and the query timeout of each statement
 *     of a search or a change, which is rounded up to whole seconds; 1ms to 1m
 * @param keepStatistics how long counts by type and status are cached before the whole table is read again, 1s to 1h
 */
@ConfigurationProperties("outbox.endpoint")
record OutboxEndpointProperties(
        @DefaultValue("true") boolean enabled,
        @DefaultValue("false") boolean writesEnabled,
        @DefaultValue("never") ShowPayload showPayload,
        @DefaultValue("5s") Duration timeout,
        @DefaultValue("10s") Duration keepStatistics) {

    /** When payloads are shown. */
    enum ShowPayload {
        NEVER,
        ALWAYS
    }

    OutboxEndpointProperties {
        PropertyCheck check = PropertyCheck.of("outbox.endpoint");
        check.between("timeout", timeout, Duration.ofMillis(1), Duration.ofMinutes(1));
        check.between("keep-statistics", keepStatistics, Duration.ofSeconds(1), Duration.ofHours(1));
    }
}
