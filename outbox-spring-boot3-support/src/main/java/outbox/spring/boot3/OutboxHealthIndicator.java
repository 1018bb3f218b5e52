package outbox.spring.boot3;

import org.springframework.boot.actuate.health.AbstractHealthIndicator;
import org.springframework.boot.actuate.health.Health;
import outbox.spring.boot.OutboxHealth;

/** Adapts {@link OutboxHealth} to Spring Boot 3.5. */
final class OutboxHealthIndicator extends AbstractHealthIndicator {

    private final OutboxHealth health;

    OutboxHealthIndicator(OutboxHealth health) {
        super("The health of the outbox cannot be found out");
        this.health = health;
    }

    @Override
    protected void doHealthCheck(Health.Builder builder) {
        OutboxHealth.Report report = health.report();
        builder.status(report.status()).withDetails(report.details());
    }
}
