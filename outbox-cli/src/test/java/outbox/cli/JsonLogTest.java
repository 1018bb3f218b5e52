package outbox.cli;

import com.sun.net.httpserver.HttpServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.internal.text.PrintableText;
import outbox.testing.fault.ChildJvm;
import outbox.testing.server.PostgresServer;
import outbox.util.JsonCodec;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.LogRecord;

import static org.assertj.core.api.Assertions.assertThat;

/** The log of the command as JSON lines. */
@Timeout(180)
@Tag("process")
class JsonLogTest {

    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final String FORGED = "\r\n2026-01-01 SEVERE all lost\u001b[2J\u202e";

    @Test
    void every_line_of_a_relay_is_a_json_object_and_a_failed_attempt_has_the_fields_of_its_event() throws Exception {
        String url = PostgresServer.shared().createDatabase();
        Run.of("schema", "apply", "--table", "org_outbox", "--yes", "--url", url);
        String eventId = "5f0c1d2e-0000-4000-8000-000000000001";
        String tenantId = "5f0c1d2e-0000-4000-8000-000000000002";
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            statement.execute("INSERT INTO org_outbox (tenant_id, topic, payload, event_id) VALUES ('" + tenantId
                    + "', E'org\\r\\nFORGED.v1', '{}', '" + eventId + "')");
        }
        HttpServer endpoint = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        endpoint.createContext("/", exchange -> {
            try (exchange) {
                byte[] answer = ("cannot" + FORGED).getBytes(StandardCharsets.UTF_8);
                exchange.sendResponseHeaders(500, answer.length);
                exchange.getResponseBody().write(answer);
            }
        });
        endpoint.start();
        List<String> lines;
        try (ChildJvm relay = ChildJvm.of(Main.class)
                .jvmOptions("-Xmx128m", "-XX:+UseSerialGC")
                .arguments(
                        "relay",
                        "--url",
                        url,
                        "--tables",
                        "org_outbox",
                        "--bind",
                        "127.0.0.1:0",
                        "--log-format",
                        "json",
                        "--http-endpoint",
                        "http://127.0.0.1:" + endpoint.getAddress().getPort() + "/events")
                .start()) {
            String failed = relay.awaitLine("Delivery failed", LIMIT);
            relay.terminate();
            assertThat(relay.waitFor(LIMIT)).isZero();
            lines = relay.lines();

            assertThat(JsonCodec.parseObject(failed))
                    .containsEntry("level", "WARNING")
                    .containsEntry("logger", "outbox.dispatch.FailureLog")
                    .containsEntry("table", "org_outbox")
                    .containsEntry("event_id", eventId)
                    .containsEntry("tenant_id", tenantId)
                    .containsEntry("topic", "org\\r\\nFORGED.v1")
                    .containsEntry("sequence", "1")
                    .containsEntry("attempts", "1")
                    .containsEntry("listener", "http");
        } finally {
            endpoint.stop(0);
        }
        assertThat(lines).hasSizeGreaterThanOrEqualTo(3).allSatisfy(line -> {
            assertThat(line).startsWith("{\"time\":\"").endsWith("}");
            assertThat(line.codePoints().allMatch(PrintableText::isPrintable)).isTrue();
        });
        assertThat(lines.get(lines.size() - 1)).contains("Relay: stopped");
    }

    @Test
    void a_line_has_time_level_logger_message_and_stack_trace_on_one_line_and_no_secret() {
        Secrets secrets = new Secrets();
        secrets.add("hush");
        LogRecord record = new LogRecord(Level.SEVERE, "Cannot log in with hush" + FORGED);
        record.setLoggerName("org.postgresql.Driver");
        record.setThrown(new IllegalStateException("hush" + FORGED));

        String line = new LogLine.Json(secrets).format(record);

        assertThat(line.stripTrailing().codePoints().allMatch(PrintableText::isPrintable))
                .isTrue();
        assertThat(line)
                .contains("\"level\":\"ERROR\"", "\"logger\":\"org.postgresql.Driver\"", "\"stackTrace\":\"java.lang")
                .doesNotContain("hush");
    }

    @Test
    void a_line_of_text_cannot_be_forged_and_has_no_secret() {
        Secrets secrets = new Secrets();
        secrets.add("hush");
        LogRecord record = new LogRecord(Level.WARNING, "Cannot log in with hush" + FORGED);

        String line = new LogLine.Text(secrets).format(record);

        assertThat(line)
                .matches("\\S+ WARNING Cannot log in with \\*\\*\\*\\\\r\\\\n2026-01-01 SEVERE all lost\\\\u001b\\[2J"
                        + "\\\\u202e\\R");
    }

    @Test
    void another_format_is_refused() {
        Run run = Run.with(
                Map.of("OUTBOX_LOG_FORMAT", "xml"),
                question -> java.util.Optional.empty(),
                java.time.Clock.systemUTC(),
                "relay",
                "--url",
                "jdbc:h2:mem:none",
                "--tables",
                "a",
                "--transport",
                "stdout");

        assertThat(run.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(run.err()).contains("OUTBOX_LOG_FORMAT: must be text or json");
    }
}
