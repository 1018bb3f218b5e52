package outbox.spring.boot.reconcile;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import outbox.spring.boot.internal.PropertyCheck;

import java.time.Duration;

/**
 * Settings of reconcile jobs, which find facts whose event is missing.
 *
 * @param enabled whether reconcile jobs run in this process
 * @param dryRun whether all runs only count the events that they would write
 * @param lookEvery how often to check which jobs are due or requested, 50ms to 10m
 * @param keepRuns the maximum number of runs of each job in the history, 1 to 100000
 */
@ConfigurationProperties(OutboxReconcileProperties.PREFIX)
record OutboxReconcileProperties(
        @DefaultValue("true") boolean enabled,
        @DefaultValue("false") boolean dryRun,
        @DefaultValue("5s") Duration lookEvery,
        @DefaultValue("1000") int keepRuns) {

    static final String PREFIX = "outbox.reconcile";

    OutboxReconcileProperties {
        PropertyCheck check = PropertyCheck.of(PREFIX);
        check.between("look-every", lookEvery, Duration.ofMillis(50), Duration.ofMinutes(10));
        check.between("keep-runs", keepRuns, 1, 100_000);
    }
}
