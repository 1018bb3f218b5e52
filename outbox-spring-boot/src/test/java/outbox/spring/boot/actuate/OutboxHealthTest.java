package outbox.spring.boot.actuate;

import com.zaxxer.hikari.HikariDataSource;
import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.Test;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import outbox.EventEnvelope;
import outbox.GiveUpException;
import outbox.admin.OutboxAdmin;
import outbox.admin.PauseRequest;
import outbox.spring.ListenerSource;
import outbox.spring.boot.Applications;
import outbox.spring.boot.Contexts;
import outbox.spring.boot.HostileRows;
import outbox.spring.boot.OutboxHealth;
import outbox.spring.boot.internal.OutboxLifecycle;

import java.sql.Connection;
import java.sql.Timestamp;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

@NullUnmarked
class OutboxHealthTest {

    private final ApplicationContextRunner runner =
            Applications.with(OutboxHealthAutoConfiguration.class).withPropertyValues("outbox.health.keep=0");

    private static OutboxHealth.Report report(ApplicationContext context) {
        return context.getBean(OutboxHealth.class).report();
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> details(OutboxHealth.Report report) {
        return (Map<String, Object>) report.details().get("default");
    }

    private static void awaitState(ApplicationContext context, String state, String status) {
        await().untilAsserted(() -> {
            OutboxHealth.Report report = report(context);
            assertThat(details(report)).containsEntry("state", state);
            assertThat(report.status()).isEqualTo(status);
        });
    }

    private static void age(ApplicationContext context, Duration by) {
        Applications.jdbc(context)
                .update(
                        "UPDATE outbox_event SET available_at = ?",
                        Timestamp.from(Instant.now().minus(by)));
    }

    private static PauseRequest.Builder pause(PauseRequest.Builder request) {
        return request.actor("ops").reason("a test").confirmed(true);
    }

    @Test
    void an_outbox_that_works_is_up_and_tells_about_its_table_and_its_relay() {
        runner.run(context -> {
            awaitState(context, "up", "UP");

            assertThat(details(report(context)))
                    .containsEntry("table", "outbox_event")
                    .containsEntry("pending", 0L)
                    .containsKey("relay");
            assertThat(context.getBean(HealthIndicator.class)
                            .health()
                            .getStatus()
                            .getCode())
                    .isEqualTo("UP");
        });
    }

    @Test
    void rows_that_cannot_be_delivered_are_counted_as_dead_and_leave_it_up_while_others_flow() {
        long seed = Long.getLong("outbox.hostile.seed", new Random().nextLong());
        Set<String> delivered = ConcurrentHashMap.newKeySet();
        runner.withBean(ListenerSource.class, () -> Applications.listening(event -> delivered.add(event.eventId())))
                .run(context -> {
                    HostileRows rows = HostileRows.write(Applications.jdbc(context), new Random(seed));

                    await().atMost(Duration.ofSeconds(60)).untilAsserted(() -> {
                        assertThat(report(context).status()).as("seed " + seed).isEqualTo("UP");
                        assertThat(details(report(context)))
                                .as("seed " + seed)
                                .containsEntry("pending", 0L)
                                .containsEntry("dead", (long) rows.bad().size());
                    });
                    String later = Applications.write(context, "order.placed");

                    await().until(() -> delivered.contains(later));
                    assertThat(delivered).containsAll(rows.good()).doesNotContainAnyElementsOf(rows.bad());
                    awaitState(context, "up", "UP");
                });
    }

    @Test
    void dead_events_alone_do_not_change_it() {
        runner.withBean(
                        ListenerSource.class,
                        () -> Applications.listening(event -> {
                            throw new GiveUpException("never");
                        }))
                .run(context -> {
                    Applications.write(context, "order.placed");
                    await().until(() -> Applications.jdbc(context)
                                    .queryForObject("SELECT COUNT(*) FROM outbox_event WHERE status = 3", Integer.class)
                            == 1);

                    assertThat(report(context).status()).isEqualTo("UP");
                });
    }

    @Test
    void a_paused_outbox_is_out_of_service() {
        runner.run(context -> {
            context.getBean(OutboxAdmin.class)
                    .pause(pause(PauseRequest.outbox()).build());

            awaitState(context, "paused", "OUT_OF_SERVICE");

            context.getBean(OutboxAdmin.class)
                    .resume(pause(PauseRequest.outbox()).build());

            awaitState(context, "up", "UP");
        });
    }

    @Test
    void the_status_of_a_paused_outbox_can_be_chosen() {
        runner.withPropertyValues("outbox.health.paused-status=UP").run(context -> {
            context.getBean(OutboxAdmin.class)
                    .pause(pause(PauseRequest.outbox()).build());

            awaitState(context, "paused", "UP");
        });
    }

    @Test
    void an_event_that_is_overdue_for_too_long_makes_it_lag() {
        lagging().run(context -> {
            Applications.write(context, "order.placed");
            age(context, Duration.ofMinutes(4));
            assertThat(report(context).status()).isEqualTo("UP");

            age(context, Duration.ofMinutes(6));

            awaitState(context, "lagging", "DOWN");
        });
    }

    /** Nothing is started. */
    private ApplicationContextRunner lagging() {
        return runner.withPropertyValues("outbox.dispatcher.workers=0");
    }

    @Test
    void when_it_lags_and_what_that_means_can_be_chosen() {
        lagging()
                .withPropertyValues("outbox.health.max-lag=1m", "outbox.health.lagging-status=SLOW")
                .run(context -> {
                    Applications.write(context, "order.placed");
                    age(context, Duration.ofMinutes(2));

                    awaitState(context, "lagging", "SLOW");
                });
    }

    @Test
    void while_a_type_is_paused_lag_is_told_but_takes_no_node_out() {
        lagging().run(context -> {
            context.getBean(OutboxAdmin.class)
                    .pause(pause(PauseRequest.type("order.placed")).build());
            Applications.write(context, "order.placed");
            age(context, Duration.ofMinutes(6));

            await().untilAsserted(() -> assertThat(details(report(context))).containsKey("pauses"));
            awaitState(context, "lagging", "UP");
        });
    }

    @Test
    void events_behind_a_dead_one_are_late_on_purpose_only_where_it_blocks_them() {
        assertBehindDead("block", "UP");
        assertBehindDead("skip", "DOWN");
    }

    private void assertBehindDead(String whenDead, String status) {
        lagging()
                .withPropertyValues(
                        "spring.datasource.url=jdbc:h2:mem:behind-dead-" + whenDead,
                        "outbox.capabilities=pauses,order",
                        "outbox.ordering.per-aggregate=true",
                        "outbox.ordering.when-dead=" + whenDead)
                .run(context -> {
                    EventEnvelope dead = ofOrder();
                    Contexts.write(context, dead);
                    Contexts.write(context, ofOrder());
                    Applications.jdbc(context)
                            .update(
                                    "UPDATE outbox_event SET status = 3, locked_by = NULL, locked_at = NULL WHERE event_id = ?",
                                    dead.eventId());
                    age(context, Duration.ofMinutes(6));

                    awaitState(context, "lagging", status);
                });
    }

    private static EventEnvelope ofOrder() {
        return EventEnvelope.builder("order.placed")
                .aggregateType("Order")
                .aggregateId("1")
                .payloadJson("{}")
                .build();
    }

    @Test
    void an_outbox_whose_workers_are_all_held_is_stuck() {
        CountDownLatch gate = new CountDownLatch(1);
        runner.withPropertyValues("outbox.dispatcher.workers=1", "outbox.dispatcher.listener-time-limit=20ms")
                .withBean(ListenerSource.class, () -> Applications.listening(event -> hang(gate)))
                .run(context -> {
                    Applications.write(context, "order.placed");
                    Applications.write(context, "order.placed");

                    awaitState(context, "stuck", "DOWN");
                    gate.countDown();
                });
    }

    @Test
    void a_poller_that_cannot_look_is_stuck_after_the_time_that_is_set() {
        runner.withPropertyValues("outbox.health.stuck-after=100ms").run(context -> {
            awaitState(context, "up", "UP");

            Applications.jdbc(context).execute("ALTER TABLE outbox_event DROP COLUMN headers");

            awaitState(context, "stuck", "DOWN");
        });
    }

    private static void hang(CountDownLatch gate) {
        boolean open = false;
        while (!open) {
            try {
                gate.await();
                open = true;
            } catch (InterruptedException e) {
                // ignores the interrupt, so that it stays stuck
            }
        }
    }

    @Test
    void an_outbox_without_a_leader_is_down() {
        runner.withPropertyValues(
                        "outbox.single-active.enabled=true",
                        "outbox.single-active.term=100ms",
                        "outbox.poller.interval=200ms")
                .run(context -> {
                    awaitState(context, "up", "UP");

                    Applications.jdbc(context).execute("DROP TABLE outbox_leader");

                    awaitState(context, "no leader", "DOWN");
                });
    }

    @Test
    void a_relay_that_was_stopped_is_out_of_service() {
        runner.run(context -> {
            context.getBean(OutboxLifecycle.class).stop();

            awaitState(context, "stopped", "OUT_OF_SERVICE");
        });
    }

    @Test
    void a_database_that_is_away_is_down() {
        runner.run(context -> {
            context.getBean(DataSource.class).unwrap(HikariDataSource.class).close();

            awaitState(context, "database unreachable", "DOWN");
        });
    }

    @Test
    void a_database_that_does_not_answer_is_waited_for_as_long_as_is_set() {
        runner.withPropertyValues("outbox.health.timeout=50ms").run(context -> {
            List<Connection> all = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                all.add(context.getBean(DataSource.class).getConnection());
            }

            assertThat(details(report(context))).containsEntry("reason", "No answer within 50 ms");
            for (Connection connection : all) {
                connection.close();
            }
        });
    }

    @Test
    void what_the_database_said_is_kept_for_a_while() {
        runner.withPropertyValues("outbox.health.keep=1h").run(context -> {
            awaitState(context, "up", "UP");

            Applications.jdbc(context).execute("DROP TABLE outbox_event");

            assertThat(report(context).status()).isEqualTo("UP");
        });
    }

    @Test
    void it_can_be_switched_off() {
        runner.withPropertyValues("outbox.health.enabled=false")
                .run(context -> assertThat(context).doesNotHaveBean(OutboxHealth.class));
        runner.withPropertyValues("management.health.outbox.enabled=false")
                .run(context -> assertThat(context).doesNotHaveBean(HealthIndicator.class));
    }

    @Test
    void wrong_values_are_refused_by_the_name_of_the_property() {
        assertRefused("outbox.health.timeout=0", "between 1ms and 1m");
        assertRefused("outbox.health.keep=2h", "between 0 and 60m");
        assertRefused("outbox.health.max-lag=0", "between 1ms and 365d");
        assertRefused("outbox.health.stuck-after=-1s", "between 1ms and 365d");
        assertRefused("outbox.health.paused-status=paused", "capital letters");
        assertRefused("outbox.health.lagging-status=", "capital letters");
    }

    private void assertRefused(String property, String allowed) {
        runner.withPropertyValues(property)
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessageContainingAll(property.substring(0, property.indexOf('=')), allowed));
    }
}
