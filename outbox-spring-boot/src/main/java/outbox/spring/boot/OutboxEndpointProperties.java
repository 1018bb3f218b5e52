package outbox.spring.boot;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

import java.time.Duration;

/**
 * The actuator endpoint {@code outbox}.
 *
 * @param enabled whether there is the endpoint; it must be exposed as well, by management.endpoints.web.exposure.include
 * @param writesEnabled whether it pauses, resumes, replays and discards
 * @param showPayload when it shows payloads and values of headers: never or always
 * @param timeout how long it waits for the numbers of an outbox, and how long each statement of a search or a change
 * may run in the database, there in whole seconds; 1ms to 1m
 * @param keepStatistics how long counts by type and status are kept before the whole table is read again, 1s to 1h
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
