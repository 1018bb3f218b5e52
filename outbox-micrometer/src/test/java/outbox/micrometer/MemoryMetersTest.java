package outbox.micrometer;

import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.memory.MemoryOutbox;
import outbox.memory.WhenFull;
import outbox.registry.DefaultListenerRegistry;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MemoryMetersTest {

    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final MemoryMeters meters = new MemoryMeters(registry);

    @Test
    void the_names_are_those_of_the_text_and_the_numbers_are_right() {
        AtomicInteger runs = new AtomicInteger();
        DefaultListenerRegistry listeners = new DefaultListenerRegistry()
                .register("fine", event -> {})
                .register("second", event -> {
                    if (runs.getAndIncrement() == 0) {
                        throw new IllegalStateException("once");
                    }
                })
                .register("never", event -> {
                    throw new IllegalStateException("always");
                });
        try (MemoryOutbox outbox = MemoryOutbox.builder(listeners)
                .metrics(meters)
                .maxEvents(4)
                .whenFull(WhenFull.DROP)
                .maxAttempts(2)
                .backoff(List.of(Duration.ofMillis(5)))
                .build()) {
            meters.queue(outbox.store()::pending);
            outbox.transactions().run(() -> {
                outbox.writer().write("fine", "{}");
                outbox.writer().write("second", "{}");
                outbox.writer().write("never", "{}");
                outbox.writer()
                        .write(EventEnvelope.builder("fine")
                                .deliverAfter(Duration.ofHours(1))
                                .payloadJson("{}")
                                .build());
                outbox.writer().write("fine", "{}");
            });
            outbox.start();
            await().atMost(Duration.ofSeconds(20)).until(() -> outbox.store().pending() == 1);

            await().atMost(Duration.ofSeconds(20))
                    .untilAsserted(() -> assertThat(registry.scrape().lines())
                            .contains(
                                    "events_enqueued_total 4.0",
                                    "events_dispatched_total 2.0",
                                    "events_retry_total 2.0",
                                    "events_failed_total 1.0",
                                    "events_dropped_total 1.0",
                                    "events_in_memory_queue_gauge 1.0"));
        }
    }

    @Test
    void what_reconcile_jobs_fixed_is_counted_by_job() {
        meters.recordReconciled("enrollment", 2);
        meters.recordReconciled("enrollment", 1);
        meters.recordReconciled("session-payout", 0);

        assertThat(registry.scrape().lines())
                .contains(
                        "reconcile_fixed_total{job=\"enrollment\"} 3.0",
                        "reconcile_fixed_total{job=\"session-payout\"} 0.0");
    }

    @Test
    void a_second_set_of_meters_is_refused() {
        assertThatThrownBy(() -> new MemoryMeters(registry)).hasMessageContaining("already");
    }
}
