package outbox.cli;

import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import org.jspecify.annotations.Nullable;
import outbox.admin.OutboxAdmin;
import outbox.micrometer.OutboxMeters;
import outbox.spi.Leadership;
import outbox.spi.MetricsExporter;

import java.util.concurrent.CompletableFuture;

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

    /** The backlog of each table is waited for, up to two seconds if the database is silent: of all at the same time, so that the waits do not add up. */
    String scrape() {
        CompletableFuture.allOf(registry.find("outbox.pending").gauges().stream()
                        .map(gauge -> CompletableFuture.runAsync(
                                gauge::value, task -> new Thread(task, "outbox-relay-scrape").start()))
                        .toArray(CompletableFuture<?>[]::new))
                .join();
        return registry.scrape(); // which finds what was read just now
    }

    @Override
    public void close() {
        registry.close();
    }
}
