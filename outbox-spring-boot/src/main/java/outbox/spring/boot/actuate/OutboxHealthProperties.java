package outbox.spring.boot.actuate;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import outbox.spring.boot.internal.PropertyCheck;

import java.time.Duration;

/**
 * Settings of the health check.
 *
 * @param enabled whether the health of the application includes its outboxes
 * @param timeout how long the database may take to respond before it counts as unreachable, 1ms to 1m
 * @param keep how long a result from the database is cached, 0 to 1h; the number of dead events is cached for at
 *     least a minute, unless this is 0
 * @param maxLag how long an event may be overdue before its outbox is lagging, 1ms to a year
 * @param stuckAfter how long the poller may go without a poll, beyond its longest pause, before it is stuck, 1ms to
 *     a year
 * @param pausedStatus status of an outbox that is paused as a whole, in capital letters and underscores
 * @param laggingStatus status of an outbox that is lagging, in capital letters and underscores
 */
@ConfigurationProperties("outbox.health")
record OutboxHealthProperties(
        @DefaultValue("true") boolean enabled,
        @DefaultValue("2s") Duration timeout,
        @DefaultValue("1s") Duration keep,
        @DefaultValue("5m") Duration maxLag,
        @DefaultValue("2m") Duration stuckAfter,
        @DefaultValue("OUT_OF_SERVICE") String pausedStatus,
        @DefaultValue("DOWN") String laggingStatus) {

    OutboxHealthProperties {
        PropertyCheck check = PropertyCheck.of("outbox.health");
        check.between("timeout", timeout, Duration.ofMillis(1), Duration.ofMinutes(1));
        check.between("keep", keep, Duration.ZERO, Duration.ofHours(1));
        check.positive("max-lag", maxLag);
        check.positive("stuck-after", stuckAfter);
        requireStatus(check, "paused-status", pausedStatus);
        requireStatus(check, "lagging-status", laggingStatus);
    }

    private static void requireStatus(PropertyCheck check, String key, String status) {
        if (!status.matches("[A-Z][A-Z_]*")) {
            throw check.refuse(
                    key, status, "a status in capital letters and underscores, such as UP, OUT_OF_SERVICE or DOWN");
        }
    }
}
