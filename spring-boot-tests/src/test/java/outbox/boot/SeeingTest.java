package outbox.boot;

import io.micrometer.tracing.Span;
import io.micrometer.tracing.Tracer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.slf4j.MDC;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;
import outbox.GiveUpException;
import outbox.OutboxWriter;
import outbox.spring.ListenerSource;
import outbox.spring.OutboxListeners;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.management.MBeanServer;
import javax.management.ObjectName;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** Health, endpoint and traces of an application, as its operators see them. */
class SeeingTest {

    private static final BlockingQueue<Map<String, String>> LOGGED = new LinkedBlockingQueue<>();

    private static ConfigurableApplicationContext context;
    private final HttpClient http =
            HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(10)).build();

    @SpringBootConfiguration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Application {

        @Bean
        ListenerSource listeners() {
            return (outbox, listeners) -> listeners
                    .add(new OutboxListeners.Entry("*", "good", event -> LOGGED.add(MDC.getCopyOfContextMap()), "good"))
                    .add(new OutboxListeners.Entry(
                            "*",
                            "bad",
                            event -> {
                                throw new GiveUpException("never " + event.payloadJson());
                            },
                            "bad"));
        }
    }

    @BeforeAll
    static void start() {
        context = new SpringApplicationBuilder(Application.class)
                .properties(
                        "server.port=0",
                        "spring.datasource.url=jdbc:h2:mem:seeing",
                        "spring.jmx.enabled=true",
                        "management.endpoints.web.exposure.include=health,outbox,metrics",
                        "management.endpoints.jmx.exposure.include=outbox",
                        "management.endpoint.health.show-details=always",
                        "management.endpoint.health.probes.enabled=true",
                        "management.tracing.sampling.probability=1",
                        "outbox.capabilities=pauses",
                        "outbox.poller.interval=100ms",
                        "outbox.health.keep=0",
                        "outbox.endpoint.writes-enabled=true")
                .run();
    }

    @AfterAll
    static void stop() {
        context.close();
    }

    private static String write(String type) {
        OutboxWriter writer = context.getBean(OutboxWriter.class);
        String id = new TransactionTemplate(context.getBean(PlatformTransactionManager.class))
                .execute(status -> writer.write(type, "{\"secret\":1}"));
        return Objects.requireNonNull(id);
    }

    private HttpResponse<String> get(String path) throws IOException, InterruptedException {
        return http.send(request(path).build(), BodyHandlers.ofString());
    }

    private HttpResponse<String> post(String path, String json) throws IOException, InterruptedException {
        return http.send(
                request(path)
                        .header("Content-Type", "application/json")
                        .POST(BodyPublishers.ofString(json))
                        .build(),
                BodyHandlers.ofString());
    }

    private static HttpRequest.Builder request(String path) {
        String port = context.getEnvironment().getProperty("local.server.port");
        return HttpRequest.newBuilder(URI.create("http://localhost:" + port + "/actuator" + path))
                .timeout(Duration.ofSeconds(10));
    }

    @Test
    void health_has_the_outbox_but_liveness_has_not() throws Exception {
        await().untilAsserted(() -> assertThat(get("/health/outbox").body())
                .contains("\"status\":\"UP\"", "\"state\":\"up\"", "\"outbox_event\""));

        assertThat(get("/health/liveness").body()).doesNotContain("outbox");
    }

    @Test
    void an_operator_finds_pauses_and_replays_over_http() throws Exception {
        String id = write("bad");
        await().untilAsserted(() -> assertThat(get("/outbox/default/events?status=DEAD&type=bad&limit=1000")
                        .body())
                .contains(id)
                .doesNotContain("secret"));
        assertThat(get("/outbox").body()).contains("\"pending\"", "\"liveWorkers\"");
        assertThat(get("/outbox/default").body()).contains("\"byType\"");
        assertThat(get("/outbox/default/events/" + id).body())
                .contains("\"status\":\"DEAD\"")
                .doesNotContain("secret");

        HttpResponse<String> dryRun =
                post("/outbox/default/replay", "{\"eventId\":\"" + id + "\",\"by\":\"ops\",\"reason\":\"try\"}");
        assertThat(dryRun.body()).contains("\"dryRun\":true", "\"matched\":1");
        assertThat(post(
                                "/outbox/default/discard",
                                "{\"eventId\":\"" + id + "\",\"by\":\"ops\",\"reason\":\"wrong\",\"confirm\":\"true\"}")
                        .body())
                .contains("\"affected\":1");
        assertThat(get("/outbox/default/events/" + id).statusCode()).isEqualTo(404);
    }

    @Test
    void a_pause_shows_in_health() throws Exception {
        String wish = "{\"by\":\"ops\",\"reason\":\"stop\",\"confirm\":\"true\"}";

        try {
            assertThat(post("/outbox/default/pause", wish).statusCode()).isEqualTo(200);
            await().untilAsserted(() -> {
                HttpResponse<String> health = get("/health/outbox");
                assertThat(health.statusCode()).isEqualTo(503);
                assertThat(health.body()).contains("OUT_OF_SERVICE", "paused");
            });
        } finally { // otherwise the other tests would wait for their events
            assertThat(post("/outbox/default/resume", wish).statusCode()).isEqualTo(200);
        }
        await().untilAsserted(
                        () -> assertThat(get("/health/outbox").statusCode()).isEqualTo(200));
    }

    @Test
    void what_is_asked_wrongly_is_refused_with_the_reason() throws Exception {
        assertThat(get("/outbox/other").statusCode()).isEqualTo(404);
        HttpResponse<String> nobody = post("/outbox/default/pause", "{\"reason\":\"stop\"}");
        assertThat(nobody.statusCode()).isEqualTo(400);
        assertThat(nobody.body()).contains("'by' is required");
    }

    @Test
    void many_events_are_changed_over_http_only_with_filter_cap_and_rate() throws Exception {
        String id = write("bad");
        await().untilAsserted(() ->
                assertThat(get("/outbox/default/events/" + id).body()).contains("\"status\":\"DEAD\""));
        String who = "\"by\":\"ops\",\"reason\":\"try\",";

        assertRefused(post("/outbox/default/discard", "{" + who + "\"status\":\"DEAD\",\"cap\":10}"), "no filter");
        assertRefused(post("/outbox/default/discard", "{" + who + "\"type\":\"bad\"}"), "'cap'");
        assertRefused(post("/outbox/default/replay", "{" + who + "\"type\":\"bad\",\"cap\":10}"), "'rate'");
        assertThat(post("/outbox/default/replay", "{" + who + "\"type\":\"bad\",\"cap\":10,\"rate\":5}")
                        .body())
                .contains("\"dryRun\":true");
        assertThat(get("/outbox/default/events?type=bad&before=2100-01-01T00:00:00Z")
                        .body())
                .contains(id, "never [payload]");
    }

    private static void assertRefused(HttpResponse<String> response, String reason) {
        assertThat(response.statusCode()).isEqualTo(400);
        assertThat(response.body()).contains(reason);
    }

    @Test
    void the_endpoint_is_there_over_jmx() throws Exception {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        ObjectName name = new ObjectName("org.springframework.boot:type=Endpoint,name=Outbox");

        assertThat(server.invoke(name, "outboxes", new Object[0], new String[0]).toString())
                .contains("outbox_event");
        assertThat(server.invoke(name, "outbox", new Object[] {"default"}, new String[] {String.class.getName()})
                        .toString())
                .contains("byStatus");
    }

    @Test
    void a_listener_logs_the_trace_of_the_write_and_its_event() throws Exception {
        Tracer tracer = context.getBean(Tracer.class);
        Span span = tracer.nextSpan().name("request").start();
        String id;
        try (Tracer.SpanInScope scope = tracer.withSpan(span)) {
            assertThat(scope).isNotNull();
            id = write("good");
        } finally {
            span.end();
        }

        Map<String, String> mdc = LOGGED.poll(10, TimeUnit.SECONDS);

        assertThat(mdc)
                .containsEntry("traceId", span.context().traceId())
                .containsEntry("outbox.event.id", id)
                .containsEntry("outbox.event.type", "good");
        // counted when the listener has returned
        await().untilAsserted(() -> {
            assertThat(get("/metrics/outbox.dispatch").statusCode()).isEqualTo(200);
            assertThat(get("/metrics/outbox.process").statusCode()).isEqualTo(200);
        });
    }
}
