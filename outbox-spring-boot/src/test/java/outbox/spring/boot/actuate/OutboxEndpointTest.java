package outbox.spring.boot.actuate;

import org.assertj.core.api.AbstractStringAssert;
import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.Test;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import outbox.GiveUpException;
import outbox.dispatch.Protection;
import outbox.spring.ListenerSource;
import outbox.spring.boot.Applications;
import outbox.spring.boot.OutboxInstance;

import java.security.Principal;
import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

@NullUnmarked
class OutboxEndpointTest {

    private static final EventSearch ANY = EventSearch.ofType(null);
    private static final String CARD = "4111111111111111";

    private final ApplicationContextRunner runner = Applications.with(OutboxEndpointAutoConfiguration.class)
            .withBean(
                    ListenerSource.class,
                    () -> Applications.listening(event -> {
                        if (event.eventType().startsWith("bad")) {
                            throw new GiveUpException("never " + event.payloadJson());
                        }
                    }))
            .withPropertyValues("management.endpoints.web.exposure.include=outbox");

    private static OutboxEndpoint endpoint(ApplicationContext context) {
        return context.getBean(OutboxEndpoint.class);
    }

    private static OutboxOperations operations(ApplicationContext context) {
        return context.getBean(OutboxOperations.class);
    }

    private static String dead(ApplicationContext context) {
        String id = Applications.write(context, "bad.event");
        await().until(() ->
                operations(context).event("default", id).get("status").equals("DEAD"));
        return id;
    }

    private static OutboxOperations.Wish wish(boolean confirm, EventSearch events) {
        return new OutboxOperations.Wish("ops", "a test", confirm, null, null, events, null, null);
    }

    private static OutboxOperations.Wish bulk(boolean confirm, EventSearch events, Integer cap, Integer rate) {
        return new OutboxOperations.Wish("ops", "a test", confirm, null, null, events, cap, rate);
    }

    private static EventSearch id(String id) {
        return new EventSearch(id, null, null, null, null, null, null, null, null);
    }

    private static EventSearch status(String status) {
        return new EventSearch(null, null, status, null, null, null, null, null, null);
    }

    private static EventSearch before(String time) {
        return new EventSearch(null, null, null, null, null, null, null, null, time);
    }

    @Test
    @SuppressWarnings("unchecked")
    void it_shows_all_outboxes_and_the_counts_of_one() {
        runner.run(context -> {
            dead(context);

            Map<String, Object> all =
                    (Map<String, Object>) endpoint(context).outboxes().get("outboxes");
            assertThat((Map<String, Object>) all.get("default"))
                    .containsEntry("table", "outbox_event")
                    .containsEntry("pending", 0L)
                    .containsKey("relay")
                    .doesNotContainKey("statistics");
            Map<String, Object> counts =
                    (Map<String, Object>) endpoint(context).outbox("default").get("statistics");
            assertThat((Map<String, Object>) counts.get("byType")).containsEntry("bad.event", Map.of("DEAD", 1L));
        });
    }

    @Test
    void it_shows_what_limits_do_as_the_dispatcher_does() {
        runner.withPropertyValues("outbox.protection.types[bad.event].concurrency=3")
                .run(context -> {
                    dead(context);

                    assertThat(endpoint(context).outbox("default").get("limits"))
                            .isEqualTo(List.of(Map.of(
                                    "name", "type bad.event", "running", 0, "waiting", 0, "overflowing", false)));
                    assertThat(Objects.requireNonNull(context.getBean(OutboxInstance.class)
                                            .dispatcher())
                                    .protectionStatus()
                                    .limits())
                            .containsExactly(new Protection.Status.Place("type bad.event", 0, 0, false));
                });
    }

    @Test
    void it_searches_events_a_page_at_a_time_without_payloads() {
        runner.run(context -> {
            String first = dead(context);
            String second = dead(context);

            Map<String, Object> page = operations(context).events("default", status("dead"), 1, null);
            Map<String, Object> next = operations(context).events("default", ANY, 1, String.valueOf(page.get("next")));

            assertThat(page.get("events")).asString().contains(second).doesNotContain("secret");
            assertThat(next.get("events")).asString().contains(first);
        });
    }

    @Test
    void it_shows_one_event_without_its_payload_unless_that_is_switched_on() {
        runner.run(context -> assertThat(operations(context).event("default", dead(context)))
                .containsEntry("eventType", "bad.event")
                .doesNotContainKey("payload"));
        runner.withPropertyValues("outbox.endpoint.show-payload=always")
                .run(context -> assertThat(operations(context).event("default", dead(context)))
                        .containsEntry("payload", "{\"secret\":1}"));
    }

    @Test
    void it_does_not_write_unless_that_is_switched_on() {
        runner.run(context -> {
            WebEndpointResponse<Map<String, Object>> response = context.getBean(OutboxWebEndpoint.class)
                    .act(
                            SecurityContext.NONE,
                            "default",
                            "pause",
                            "ops",
                            "a test",
                            true,
                            null,
                            null,
                            null,
                            null,
                            null,
                            null,
                            null,
                            null,
                            null,
                            null,
                            null,
                            null,
                            null);

            assertThat(response.getStatus()).isEqualTo(403);
            assertThat(response.getBody())
                    .extracting("error")
                    .asString()
                    .contains("outbox.endpoint.writes-enabled=true");
            assertThatExceptionOfType(InvalidEndpointRequestException.class)
                    .isThrownBy(() -> endpoint(context)
                            .act(
                                    SecurityContext.NONE,
                                    "default",
                                    "pause",
                                    "ops",
                                    "a test",
                                    true,
                                    null,
                                    null,
                                    null,
                                    null,
                                    null,
                                    null,
                                    null,
                                    null,
                                    null,
                                    null,
                                    null,
                                    null,
                                    null))
                    .withMessageContaining("writes-enabled");
        });
    }

    @Test
    void it_pauses_and_resumes_when_confirmed() {
        writing().run(context -> {
            OutboxOperations operations = operations(context);

            assertThat(operations.act("default", "pause", wish(false, ANY))).containsEntry("dryRun", true);
            assertThat(operations.act("default", "pause", wish(true, ANY))).containsEntry("affected", 1L);
            assertThat(operations.act("default", "pause", wish(true, EventSearch.ofType("t"))))
                    .containsEntry("affected", 1L);
            assertThat(operations.act("default", "resume", wish(true, ANY))).containsEntry("affected", 1L);
        });
    }

    private ApplicationContextRunner writing() {
        return runner.withPropertyValues("outbox.endpoint.writes-enabled=true");
    }

    @Test
    void it_replays_and_discards_dead_events_when_confirmed() {
        writing().run(context -> {
            OutboxOperations operations = operations(context);
            String id = dead(context);

            assertThat(operations.act("default", "replay", bulk(false, EventSearch.ofType("bad.event"), 10, 100)))
                    .containsEntry("dryRun", true)
                    .containsEntry("matched", 1L);
            assertThat(operations.act("default", "replay", bulk(true, EventSearch.ofType("bad.event"), 10, 100)))
                    .containsEntry("affected", 1L);
            await().until(() -> operations.event("default", id).get("status").equals("DEAD"));
            assertThat(operations.act("default", "discard", wish(true, id(id)))).containsEntry("affected", 1L);
            assertRefused(404, () -> operations.event("default", id));
        });
    }

    @Test
    void what_is_meant_and_who_wants_it_must_be_said() {
        writing().run(context -> {
            OutboxOperations operations = operations(context);

            assertRefused(400, () -> operations.act("default", "discard", wish(true, ANY)))
                    .contains("by eventId, or by one or more of type");
            assertRefused(
                            400,
                            () -> operations.act(
                                    "default",
                                    "pause",
                                    new OutboxOperations.Wish(null, "a test", true, null, null, ANY, null, null)))
                    .contains("'by' is required");
            assertRefused(400, () -> operations.events("default", ANY, 0, null)).contains("pageSize");
            assertRefused(400, () -> operations.events("default", status("lost"), null, null))
                    .contains("NEW, DONE, RETRY or DEAD");
            assertRefused(404, () -> operations.outbox("other")).contains("other");
            assertRefused(404, () -> operations.act("default", "delete", wish(true, ANY)))
                    .contains("pause, resume, replay or discard");
        });
    }

    @Test
    void many_events_are_changed_on_the_terms_of_the_command() {
        writing().run(context -> {
            OutboxOperations operations = operations(context);
            String id = dead(context);
            EventSearch type = EventSearch.ofType("bad.event");

            for (String action : new String[] {"replay", "discard"}) {
                assertRefused(400, () -> operations.act("default", action, bulk(true, status("DEAD"), 10, 1)))
                        .contains("A status alone is no filter");
                assertRefused(400, () -> operations.act("default", action, bulk(true, type, null, null)))
                        .contains("'cap'");
                assertRefused(400, () -> operations.act("default", action, bulk(true, type, 0, 1)))
                        .contains("cap must be between 1 and");
                assertRefused(
                                400,
                                () -> operations.act(
                                        "default",
                                        action,
                                        new OutboxOperations.Wish("ops", null, true, null, null, type, 10, 1)))
                        .contains("'reason' is required");
            }
            assertRefused(400, () -> operations.act("default", "replay", bulk(true, type, 10, null)))
                    .contains("'rate'");
            assertRefused(400, () -> operations.act("default", "discard", bulk(true, type, 10, 5)))
                    .contains("settings of a replay");
            assertRefused(400, () -> operations.act("default", "discard", bulk(true, before("noon"), 10, null)))
                    .contains("before must be a time in UTC");
            assertRefused(400, () -> operations.act("default", "pause", wish(true, id(id))))
                    .contains("takes no other filter");
            assertThat(operations.event("default", id)).containsEntry("status", "DEAD");

            assertThat(operations.act("default", "discard", bulk(true, before("2100-01-01T00:00:00Z"), 10, null)))
                    .containsEntry("affected", 1L);
        });
    }

    @Test
    void errors_do_not_show_a_payload_that_is_kept_from_view() {
        runner.run(context -> {
            String id = dead(context);

            assertThat(operations(context).event("default", id).toString()).contains("never [payload]");
            assertThat(operations(context).events("default", ANY, null, null).toString())
                    .contains("never [payload]")
                    .doesNotContain("secret");

            Applications.jdbc(context)
                    .update(
                            "UPDATE outbox_event SET payload = ?, last_error = ? WHERE event_id = ?",
                            "{\"card\":\"" + CARD + "\"}",
                            "refused, " + CARD,
                            id);
            assertThat(operations(context).event("default", id)).containsEntry("error", "refused, [payload]");
        });
        runner.withPropertyValues("outbox.endpoint.show-payload=always").run(context -> {
            String id = dead(context);
            Applications.jdbc(context)
                    .update("UPDATE outbox_event SET last_error = ? WHERE event_id = ?", "{\"secret\":1}", id);

            assertThat(operations(context).event("default", id)).containsEntry("error", "{\"secret\":1}");
        });
    }

    private static AbstractStringAssert<?> assertRefused(int status, Runnable operation) {
        RefusedOperationException refused = catchThrowableOfType(RefusedOperationException.class, operation::run);
        assertThat(refused.status()).isEqualTo(status);
        return assertThat(refused.text());
    }

    @Test
    void who_is_logged_in_is_who_wants_it() {
        SecurityContext loggedIn = new SecurityContext() {
            @Override
            public Principal getPrincipal() {
                return () -> "alice";
            }

            @Override
            public boolean isUserInRole(String role) {
                return false;
            }
        };

        assertThat(EndpointMethods.who(loggedIn, "bob")).isEqualTo("alice");
        assertThat(EndpointMethods.who(SecurityContext.NONE, "bob")).isEqualTo("bob");
    }

    @Test
    void a_database_that_is_away_is_said_in_time() {
        runner.withPropertyValues("outbox.endpoint.timeout=50ms", "spring.datasource.hikari.connection-timeout=20000")
                .run(context -> {
                    List<Connection> all = new ArrayList<>();
                    DataSource dataSource = context.getBean(DataSource.class);
                    for (int i = 0; i < 10; i++) {
                        all.add(dataSource.getConnection());
                    }

                    assertThat(operations(context).outboxes().toString()).contains("No answer within 50 ms");
                    for (Connection connection : all) {
                        connection.close();
                    }
                });
    }

    @Test
    void counts_are_kept_for_a_while() {
        runner.withPropertyValues("outbox.endpoint.keep-statistics=1h").run(context -> {
            dead(context);
            operations(context).outbox("default");
            dead(context);

            assertThat(operations(context).outbox("default").get("statistics"))
                    .asString()
                    .contains("DEAD=1");
        });
    }

    @Test
    void it_is_not_there_unless_exposed_and_enabled() {
        runner.withPropertyValues("management.endpoints.web.exposure.include=health")
                .run(context -> assertThat(context).doesNotHaveBean(OutboxEndpoint.class));
        runner.withPropertyValues("outbox.endpoint.enabled=false")
                .run(context -> assertThat(context).doesNotHaveBean(OutboxEndpoint.class));
    }

    @Test
    void wrong_values_are_refused_by_the_name_of_the_property() {
        runner.withPropertyValues("outbox.endpoint.timeout=2m")
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessageContainingAll("outbox.endpoint.timeout", "between 1ms and 1m"));
        runner.withPropertyValues("outbox.endpoint.keep-statistics=0")
                .run(context -> assertThat(context)
                        .getFailure()
                        .rootCause()
                        .hasMessageContainingAll("outbox.endpoint.keep-statistics", "between 1s and 60m"));
    }
}
