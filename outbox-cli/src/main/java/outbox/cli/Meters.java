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
     * The meters of a table, shared by relay and purge. A table that several nodes relay at the same time has no
     * leader meter: several leaders would raise an alert.
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
     * Reads the gauges of all tables in parallel, so that their waits do not add up. Each waits up to two seconds for
     * the database.
     */
    String scrape() {
        CompletableFuture.allOf(Stream.of("outbox.pending", "outbox.dead.events")
                        .flatMap(name -> registry.find(name).gauges().stream())
                        .map(gauge -> CompletableFuture.runAsync(
                                gauge::value, task -> new Thread(task, "outbox-relay-scrape").start()))
                        .toArray(CompletableFuture<?>[]::new))
                .join();
        return registry.scrape(); // uses the values that were just read
    }

    @Override
    public void close() {
        registry.close();
    }
}
