package outbox.micrometer;

import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import org.junit.jupiter.api.Test;
import outbox.admin.Backlog;
import outbox.testing.metrics.Scrape;

import java.time.Duration;
import java.time.Instant;
import java.util.Set;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

class OutboxMetersTest {

    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);

    private OutboxMeters meters(int maxTopics) {
        return OutboxMeters.builder(registry, "t").maxTopics(maxTopics).build();
    }

    @Test
    void topics_beyond_the_bound_are_counted_together() {
        OutboxMeters meters = meters(2);

        for (int i = 0; i < 1000; i++) {
            meters.recordEnqueued("type-" + i);
        }
        meters.recordEnqueued("type-1");
        meters.recordDispatch("type-999", true, Duration.ofMillis(3));

        Scrape scrape = Scrape.of(registry.scrape());
        assertThat(scrape.values("topic")).isEqualTo(Set.of("type-0", "type-1", "other"));
        assertThat(scrape.value("outbox_enqueue_total", "topic", "type-1")).isEqualTo(2);
        assertThat(scrape.value("outbox_enqueue_total", "topic", "other")).isEqualTo(998);
        assertThat(scrape.value("outbox_dispatch_total", "topic", "other", "result", "success"))
                .isEqualTo(1);
    }

    @Test
    void a_long_topic_is_counted_with_the_others_and_never_becomes_a_label() {
        OutboxMeters meters = meters(2);
        String longTopic = "x".repeat(10_000);

        meters.recordEnqueued(longTopic);
        meters.recordDead(longTopic + "y");
        meters.recordDispatch(longTopic, false, Duration.ofMillis(3));
        meters.recordBreaker(longTopic, "OPEN");
        meters.recordLimit("type " + longTopic, 1, 1);
        meters.recordReconcileFailure(longTopic);
        meters.recordEnqueued("x".repeat(128)); // the maximum length that the writer accepts

        Scrape scrape = Scrape.of(registry.scrape());
        assertThat(scrape.values("topic")).isEqualTo(Set.of("other", "x".repeat(128)));
        assertThat(scrape.value("outbox_enqueue_total", "topic", "other")).isEqualTo(1);
        assertThat(scrape.value("outbox_dead_total", "topic", "other")).isEqualTo(1);
        assertThat(scrape.value("outbox_dispatch_total", "topic", "other", "result", "failure"))
                .isEqualTo(1);
        assertThat(registry.scrape()).doesNotContain("x".repeat(200));
    }

    @Test
    void an_age_of_any_length_is_a_number() {
        Backlog backlog = Backlog.of(Instant.parse("2026-11-18T00:00:00Z"), 1, 0, Instant.MIN, Instant.MIN);
        OutboxMeters.builder(registry, "t").backlog(() -> backlog).build();

        Scrape scrape = Scrape.of(registry.scrape());
        assertThat(scrape.value("outbox_oldest_pending_age_seconds")).isBetween(1e11, 1e12);
        assertThat(scrape.value("outbox_overdue_age_seconds")).isBetween(1e11, 1e12);
    }

    @Test
    void a_topic_that_is_seen_starts_all_its_counters_at_zero() {
        meters(2).recordEnqueued("a");

        Scrape scrape = Scrape.of(registry.scrape());
        assertThat(scrape.value("outbox_dead_total", "topic", "a")).isZero();
        assertThat(scrape.value("outbox_dispatch_total", "topic", "a", "result", "failure"))
                .isZero();
    }

    @Test
    void deaths_of_a_type_that_is_not_known_are_counted_as_such() {
        OutboxMeters meters = meters(1);
        meters.recordEnqueued("a");

        meters.recordDead(null);

        assertThat(Scrape.of(registry.scrape()).value("outbox_dead_total", "topic", "unknown"))
                .isEqualTo(1);
    }

    @Test
    void breakers_and_limits_are_bounded_too_and_tenants_left_out() {
        OutboxMeters meters = meters(1);

        for (int i = 0; i < 10; i++) {
            meters.recordBreaker("breaker-" + i, "HALF_OPEN");
            meters.recordLimit("type t" + i, 3, 4);
            meters.recordLimit("tenant acme-" + i, 3, 4);
        }
        meters.recordBreaker("breaker-0", "OPEN");

        Scrape scrape = Scrape.of(registry.scrape());
        assertThat(scrape.values("breaker")).containsExactly("breaker-0");
        assertThat(scrape.values("limit")).containsExactly("type t0");
        assertThat(scrape.value("outbox_breaker_state", "state", "open")).isEqualTo(1);
        assertThat(scrape.value("outbox_breaker_state", "state", "half_open")).isZero();
        assertThat(scrape.value("outbox_limit_waiting", "limit", "type t0")).isEqualTo(4);
    }

    @Test
    void what_purges_deleted_and_their_failures_are_counted() {
        OutboxMeters meters = meters(2);

        meters.recordPurged(3);
        meters.recordPurged(4);
        meters.recordPurgeFailure();

        Scrape scrape = Scrape.of(registry.scrape());
        assertThat(scrape.value("outbox_purged_total")).isEqualTo(7);
        assertThat(scrape.value("outbox_purge_failures_total")).isEqualTo(1);
    }

    @Test
    void what_reconcile_jobs_fixed_is_counted_by_job_and_bounded() {
        OutboxMeters meters = meters(2);

        meters.recordReconciled("enrollment", 3);
        meters.recordReconciled("enrollment", 4);
        meters.recordReconcileFailure("payout");
        meters.recordReconciled("beyond", 1);

        Scrape scrape = Scrape.of(registry.scrape());
        assertThat(scrape.labelsOf("reconcile_fixed_total")).containsExactly("job", "table");
        assertThat(scrape.values("job")).isEqualTo(Set.of("enrollment", "payout"));
        assertThat(scrape.value("reconcile_fixed_total", "job", "enrollment")).isEqualTo(7);
        assertThat(scrape.value("reconcile_fixed_total", "job", "payout")).isZero();
        assertThat(scrape.value("reconcile_failed_total", "job", "payout")).isEqualTo(1);
    }

    @Test
    void what_nobody_told_is_not_a_number() {
        meters(1);

        Scrape scrape = Scrape.of(registry.scrape());
        assertThat(scrape.value("outbox_workers_live")).isNaN();
        assertThat(scrape.value("outbox_queue_depth", "queue", "hot")).isNaN();
        assertThat(scrape.names()).doesNotContain("outbox_pending", "outbox_relay_leader");
    }

    @Test
    void a_leader_that_cannot_be_asked_does_not_fail_the_scrape() {
        OutboxMeters.builder(registry, "t")
                .relayLeader(() -> {
                    throw new IllegalStateException("closed");
                })
                .build();

        assertThat(Scrape.of(registry.scrape()).value("outbox_relay_leader")).isNaN();
    }

    @Test
    void tables_share_a_registry_and_one_table_has_its_meters_once() {
        OutboxMeters first = meters(1);
        OutboxMeters.builder(registry, "u").build().incrementLostClaims();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> meters(1))
                .withMessageContaining("already has the meters of table t");

        first.close();

        meters(1).incrementLostClaims();
        Scrape scrape = Scrape.of(registry.scrape());
        assertThat(scrape.value("outbox_lost_claims_total", "table", "t")).isEqualTo(1);
        assertThat(scrape.value("outbox_lost_claims_total", "table", "u")).isEqualTo(1);
    }

    @Test
    void after_the_close_nothing_is_left_and_nothing_comes_back() {
        OutboxMeters meters = meters(5);
        meters.recordEnqueued("a");
        meters.recordBreaker("b", "OPEN");

        meters.close();
        meters.recordEnqueued("a");
        meters.recordEnqueued("new");
        meters.recordBreaker("c", "OPEN");

        assertThat(Scrape.of(registry.scrape()).names()).isEmpty();
    }

    @Test
    void wrong_settings_are_refused() {
        OutboxMeters.Builder builder = OutboxMeters.builder(registry, "t");

        assertThatIllegalArgumentException().isThrownBy(() -> OutboxMeters.builder(registry, " "));
        assertThatIllegalArgumentException().isThrownBy(() -> builder.maxTopics(0));
        assertThatIllegalArgumentException().isThrownBy(() -> builder.sampleEvery(Duration.ZERO));
        assertThatIllegalArgumentException().isThrownBy(() -> builder.sampleTimeout(Duration.ofHours(2)));
    }
}
