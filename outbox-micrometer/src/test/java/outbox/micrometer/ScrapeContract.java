package outbox.micrometer;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.admin.AdminRequest;
import outbox.admin.EventFilter;
import outbox.model.EventStatus;
import outbox.testing.metrics.Scrape;

import java.util.Set;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** The metrics of a running outbox as Prometheus scrapes them. Users build dashboards and alerts on these names. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class ScrapeContract {

    private static final String TABLE = RunningOutbox.TABLE;

    @SuppressWarnings("NullAway.Init") // set before each test
    private RunningOutbox outbox;

    abstract String newDatabase();

    @BeforeEach
    void start() {
        outbox = new RunningOutbox(newDatabase());
    }

    @AfterEach
    void stop() {
        outbox.close();
    }

    @Test
    void committed_writes_are_counted_by_table_and_topic_on_every_path() {
        outbox.write("good");
        outbox.write("good");
        outbox.writeCold("bad");
        outbox.rollBack("good");

        Scrape scrape = outbox.scrape();

        assertThat(scrape.labelsOf("outbox_enqueue_total")).containsExactly("table", "topic");
        assertThat(scrape.typeOf("outbox_enqueue_total")).isEqualTo("counter");
        assertThat(scrape.value("outbox_enqueue_total", "table", TABLE, "topic", "good"))
                .isEqualTo(2);
        assertThat(scrape.value("outbox_enqueue_total", "table", TABLE, "topic", "bad"))
                .isEqualTo(1);
    }

    @Test
    void runs_are_counted_and_timed_by_table_topic_and_result() {
        outbox.write("good");
        outbox.writeCold("good");
        outbox.write("bad"); // two attempts

        awaitValue(2, "outbox_dispatch_total", "topic", "good", "result", "success");
        awaitValue(2, "outbox_dispatch_total", "topic", "bad", "result", "failure");
        Scrape scrape = outbox.scrape();
        assertThat(scrape.labelsOf("outbox_dispatch_total")).containsExactly("result", "table", "topic");
        assertThat(scrape.values("result")).isEqualTo(Set.of("success", "failure"));
        assertThat(scrape.value("outbox_dispatch_total", "topic", "bad", "result", "success"))
                .isZero();
        assertThat(scrape.typeOf("outbox_dispatch_latency_seconds")).isEqualTo("histogram");
        assertThat(scrape.labelsOf("outbox_dispatch_latency_seconds_count"))
                .containsExactly("result", "table", "topic");
        assertThat(scrape.labelsOf("outbox_dispatch_latency_seconds_bucket"))
                .containsExactly("le", "result", "table", "topic");
        assertThat(scrape.value("outbox_dispatch_latency_seconds_count", "topic", "good", "result", "success"))
                .isEqualTo(2);
        assertThat(scrape.value(
                        "outbox_dispatch_latency_seconds_bucket", "topic", "bad", "result", "failure", "le", "+Inf"))
                .isEqualTo(2);
    }

    @Test
    void the_time_of_a_run_is_that_of_its_listener() {
        outbox.write("slow");
        await().until(() -> outbox.admin.backlog().locked() == 1);
        long start = System.nanoTime();
        await().until(() -> System.nanoTime() - start > 60_000_000);
        outbox.slow.countDown();

        awaitValue(1, "outbox_dispatch_total", "topic", "slow", "result", "success");
        Scrape scrape = outbox.scrape();
        assertThat(scrape.value("outbox_dispatch_latency_seconds_sum", "topic", "slow", "result", "success"))
                .isGreaterThan(0.05);
        assertThat(scrape.value(
                        "outbox_dispatch_latency_seconds_bucket", "topic", "slow", "result", "success", "le", "0.05"))
                .isZero();
    }

    @Test
    void a_death_is_counted_once() {
        outbox.write("bad");
        outbox.write("nobody listens");

        awaitValue(1, "outbox_dead_total", "table", TABLE, "topic", "bad");
        awaitValue(1, "outbox_dead_total", "table", TABLE, "topic", "nobody listens");
        Scrape scrape = outbox.scrape();
        assertThat(scrape.labelsOf("outbox_dead_total")).containsExactly("table", "topic");
        assertThat(scrape.value("outbox_waiting")).isZero();
    }

    @Test
    void dead_events_are_shown_until_somebody_acts_and_count_as_rows_that_are_not_delivered() {
        outbox.write("bad");
        awaitValue(1, "outbox_dead_events", "table", TABLE);

        Scrape scrape = outbox.scrape();

        assertThat(scrape.typeOf("outbox_dead_events")).isEqualTo("gauge");
        assertThat(scrape.value("outbox_waiting")).isZero();
        assertThat(scrape.value("outbox_pending")).isEqualTo(1);
        outbox.admin.discard(AdminRequest.builder()
                .filter(EventFilter.builder().status(EventStatus.DEAD).build())
                .actor("ada")
                .reason("a test")
                .confirmed(true)
                .build());
        awaitValue(0, "outbox_dead_events", "table", TABLE);
        awaitValue(0, "outbox_pending", "table", TABLE);
    }

    @Test
    void polls_and_purges_tell_when_they_last_succeeded() {
        awaitSince("outbox_since_poll_seconds");
        awaitSince("outbox_since_purge_seconds");

        Scrape scrape = outbox.scrape();

        assertThat(scrape.typeOf("outbox_since_poll_seconds")).isEqualTo("gauge");
        assertThat(scrape.value("outbox_purged_total", "table", TABLE)).isZero();
        assertThat(scrape.value("outbox_purge_failures_total", "table", TABLE)).isZero();
        assertThat(scrape.value("outbox_poll_lag_seconds", "table", TABLE)).isNotNaN();
    }

    private void awaitSince(String name) {
        await().ignoreExceptionsInstanceOf(AssertionError.class)
                .untilAsserted(() ->
                        assertThat(outbox.scrape().value(name, "table", TABLE)).isBetween(0.0, 60.0));
    }

    @Test
    void the_gauges_of_the_table_follow_it() {
        assertThat(outbox.scrape().value("outbox_pending", "table", TABLE)).isZero();
        outbox.write("slow");
        await().until(() -> outbox.admin.backlog().locked() == 1);

        Scrape scrape = outbox.scrape();

        for (String gauge : Set.of(
                "outbox_pending",
                "outbox_waiting",
                "outbox_locked",
                "outbox_oldest_pending_age_seconds",
                "outbox_overdue_age_seconds")) {
            assertThat(scrape.typeOf(gauge)).isEqualTo("gauge");
            assertThat(scrape.labelsOf(gauge)).containsExactly("table");
        }
        assertThat(scrape.value("outbox_pending")).isEqualTo(1);
        assertThat(scrape.value("outbox_waiting")).isEqualTo(1);
        assertThat(scrape.value("outbox_locked")).isEqualTo(1);
        assertThat(scrape.value("outbox_oldest_pending_age_seconds")).isBetween(0.0, 60.0);
        assertThat(scrape.value("outbox_overdue_age_seconds")).isBetween(0.0, 60.0);
        outbox.slow.countDown();
        await().until(() -> outbox.scrape().value("outbox_pending") == 0);
        assertThat(outbox.scrape().value("outbox_oldest_pending_age_seconds")).isZero();
    }

    @Test
    void a_scrape_is_answered_while_the_database_is_down() {
        outbox.write("good");
        awaitValue(1, "outbox_dispatch_total", "topic", "good", "result", "success");
        assertThat(outbox.scrape().value("outbox_pending")).isZero();

        outbox.down = true;
        await().until(() -> outbox.scrape().value("outbox_sample_failures_total", "table", TABLE) > 0);

        Scrape scrape = outbox.scrape();
        assertThat(scrape.value("outbox_pending")).isZero(); // the last known value
        assertThat(scrape.value("outbox_enqueue_total", "topic", "good")).isEqualTo(1);
    }

    @Test
    void the_leader_is_one_and_the_others_are_zero() {
        assertThat(outbox.scrape().value("outbox_relay_leader", "table", TABLE)).isEqualTo(1);

        outbox.leader = false;

        assertThat(outbox.scrape().value("outbox_relay_leader", "table", TABLE)).isZero();
    }

    @Test
    void breakers_limits_and_workers_are_seen_and_tenants_are_not() {
        outbox.write("good");

        awaitValue(1, "outbox_breaker_state", "table", TABLE, "breaker", "warehouse", "state", "closed");
        awaitValue(4, "outbox_workers_live", "table", TABLE);
        awaitValue(0, "outbox_limit_running", "table", TABLE, "limit", "type good");
        assertThat(outbox.scrape().toString()).doesNotContain("acme").doesNotContain("tenant");
    }

    private void awaitValue(double value, String name, String... labels) {
        await().ignoreExceptionsInstanceOf(AssertionError.class)
                .untilAsserted(
                        () -> assertThat(outbox.scrape().value(name, labels)).isEqualTo(value));
    }
}
