package outbox.cli;

import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import org.jspecify.annotations.Nullable;
import outbox.admin.OutboxAdmin;
import outbox.micrometer.OutboxMeters;
import outbox.spi.Leadership;
import outbox.spi.MetricsExporter;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/** The meters of all tables of the process, for Prometheus. */
final class Meters implements AutoCloseable {

    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final Map<String, MetricsExporter> tables = new HashMap<>(); // by label; starting thread only

    /**
     * The meters of a table, one for relay and purge. Where a table is shared there is no leader to tell of: many at a
     * time would be an alarm.
     */
    MetricsExporter of(String label, OutboxAdmin admin, @Nullable Leadership leadership) {
        return tables.computeIfAbsent(label, name -> {
            OutboxMeters.Builder meters =
                    OutboxMeters.builder(registry, name).backlog(admin::backlog).dead(admin::deadEvents);
            if (leadership != null) {
                meters.relayLeader(leadership::isLeader);
            }
            return meters.build();
        });
    }

    /**
     * What is read from the tables is waited for, up to two seconds if the database is silent: of all at the same time,
     * so that the waits do not add up.
     */
    String scrape() {
        CompletableFuture.allOf(Stream.of("outbox.pending", "outbox.dead.events")
                        .flatMap(name -> registry.find(name).gauges().stream())
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
