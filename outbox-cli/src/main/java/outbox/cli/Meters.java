package outbox.cli;

import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import org.jspecify.annotations.Nullable;
import outbox.admin.OutboxAdmin;
import outbox.micrometer.OutboxMeters;
import outbox.spi.Leadership;
import outbox.spi.MetricsExporter;

/** The meters of all tables of the process, for Prometheus. */
final class Meters implements AutoCloseable {

    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);

    /** Where a table is shared there is no leader to tell of: many at a time would be an alarm. */
    MetricsExporter of(String table, OutboxAdmin admin, @Nullable Leadership leadership) {
        OutboxMeters.Builder meters = OutboxMeters.builder(registry, table).backlog(admin::backlog);
        if (leadership != null) {
            meters.relayLeader(leadership::isLeader);
        }
        return meters.build();
    }

    String scrape() {
        return registry.scrape();
    }

    @Override
    public void close() {
        registry.close();
    }
}
