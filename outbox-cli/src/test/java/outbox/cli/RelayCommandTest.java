package outbox.cli;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import outbox.jdbc.JdbcLeadership;
import outbox.testing.fault.ChildJvm;
import outbox.testing.server.PostgresServer;

import java.io.File;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** The relay as a process, on a table that plain SQL writes to. */
@Timeout(180)
@Tag("process")
class RelayCommandTest {

    private static final Duration START = Duration.ofSeconds(60);
    private static final String LISTENING = "health at http://";

    /** 64-bit FNV-1a of outbox:public.org_outbox, as described in docs/reference/leader.md. */
    private static final long LOCK_OF_PUBLIC_ORG_OUTBOX = -385503054640916523L;

    private final String url = PostgresServer.shared().createDatabase();

    private static ChildJvm relay(String url, String... more) {
        List<String> arguments =
                new ArrayList<>(List.of("relay", "--url", url, "--tables", "org_outbox", "--bind", "127.0.0.1:0"));
        arguments.addAll(List.of(more));
        return ChildJvm.of(Main.class)
                .jvmOptions("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
                .arguments(arguments.toArray(String[]::new))
                .start();
    }

    private void createTable() {
        assertThat(Run.of("schema", "apply", "--table", "org_outbox", "--yes", "--url", url)
                        .exitCode())
                .isEqualTo(ExitCode.OK);
    }

    private String insert(String topic, String payload) throws SQLException {
        String eventId = UUID.randomUUID().toString();
        execute("INSERT INTO org_outbox (tenant_id, topic, payload, event_id) VALUES ('" + UUID.randomUUID() + "', '"
                + topic + "', '" + payload + "', '" + eventId + "')");
        return eventId;
    }

    private void execute(String sql) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private long number(String sql) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getLong(1);
        }
    }

    private long published() throws SQLException {
        return number("SELECT COUNT(*) FROM org_outbox WHERE published_at IS NOT NULL");
    }

    @Test
    void rows_that_plain_sql_inserts_arrive_at_an_http_endpoint_and_sigterm_ends_it_with_0() throws Exception {
        createTable();
        try (Receiver receiver = Receiver.answering();
                ChildJvm relay = relay(url, "--http-endpoint", receiver.url(), "--drain-time", "20s")) {
            relay.awaitLine(LISTENING, START);
            String eventId = insert("org.organization.created.v1", "{\"name\": \"a\"}");

            await().atMost(START).untilAsserted(() -> assertThat(published()).isEqualTo(1));
            relay.terminate();

            assertThat(relay.waitFor(Duration.ofSeconds(20))).isZero();
            assertThat(receiver.posts()).hasSize(1);
            assertThat(receiver.posts().get(0).id()).isEqualTo(eventId);
            assertThat(receiver.posts().get(0).type()).isEqualTo("org.organization.created.v1");
            assertThat(receiver.posts().get(0).body()).isEqualTo("{\"name\": \"a\"}");
            await().atMost(START)
                    .untilAsserted(() -> assertThat(
                                    number(
                                            "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory'"
                                                    + " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"))
                            .isZero());
        }
    }

    @Test
    void an_endpoint_that_hangs_does_not_keep_it_beyond_its_drain_time() throws Exception {
        createTable();
        insert("org.organization.created.v1", "{}");
        try (Receiver receiver = Receiver.hanging();
                ChildJvm relay = relay(url, "--http-endpoint", receiver.url(), "--drain-time", "4s")) {
            relay.awaitLine(LISTENING, START);
            await().atMost(START).until(() -> !receiver.posts().isEmpty());

            long start = System.nanoTime();
            relay.terminate();

            assertThat(relay.waitFor(Duration.ofSeconds(30))).isZero();
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(8));
            assertThat(published()).isZero();
            assertThat(number("SELECT attempts FROM org_outbox")).isZero();
        }
    }

    @Test
    void an_endpoint_that_cannot_be_reached_costs_no_attempt() throws Exception {
        createTable();
        int port;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        String endpoint = "http://127.0.0.1:" + port + "/events";
        try (ChildJvm relay =
                relay(url, "--http-endpoint", endpoint, "--max-attempts", "1", "--poll-interval", "100ms")) {
            relay.awaitLine(LISTENING, START);
            String eventId = insert("org.organization.created.v1", "{}");
            relay.awaitLine("Circuit breaker http of table org_outbox is open", START);

            try (Receiver receiver = Receiver.answeringAt(port)) {
                await().atMost(START)
                        .untilAsserted(() -> assertThat(published()).isEqualTo(1));
                assertThat(receiver.posts()).extracting(Receiver.Post::id).contains(eventId);
            }
        }
    }

    @Test
    void an_expired_token_kills_nothing_and_a_renewed_one_delivers_everything(@TempDir Path directory)
            throws Exception {
        createTable();
        for (int i = 0; i < 150; i++) {
            insert("org.organization.created.v1", "{}");
        }
        Path file = Files.writeString(directory.resolve("token"), "Bearer t0k3n-expired");
        try (Receiver receiver = Receiver.answering();
                ChildJvm relay = relay(
                        url,
                        "--http-endpoint",
                        receiver.url(),
                        "--http-authorization-file",
                        file.toString(),
                        "--max-attempts",
                        "1",
                        // no leadership: a slow machine could lose it together with running deliveries
                        "--single-active",
                        "false",
                        "--metrics-enabled",
                        "true")) {
            receiver.require("Bearer t0k3n-renewed");
            String line = relay.awaitLine(LISTENING, START);
            String metrics =
                    line.substring(line.indexOf("http://127.0.0.1")).strip().replace("/health", "/debug/prometheus");
            relay.awaitLine(" answered 401. Its events wait, and no attempt is counted", START);
            await().atMost(START)
                    .untilAsserted(() -> assertThat(get(metrics))
                            .containsPattern("outbox_breaker_state\\{[^}]*state=\"open\"[^}]*} 1"));
            int refused = receiver.posts().size();
            await().atMost(START).until(() -> receiver.posts().size() > refused); // a probe
            assertThat(published()).isZero();
            assertThat(number("SELECT MAX(attempts) FROM org_outbox")).isZero();

            Files.writeString(file, "Bearer t0k3n-renewed\n");

            await().atMost(START).untilAsserted(() -> assertThat(published()).isEqualTo(150));
            assertThat(number("SELECT MAX(attempts) FROM org_outbox"))
                    .as(() -> String.join("\n", relay.lines()))
                    .isZero();
            assertThat(relay.lines()).noneMatch(some -> some.contains("t0k3n"));
        }
    }

    @Test
    void credentials_that_a_receiver_quotes_are_not_kept_as_the_error(@TempDir Path directory) throws Exception {
        Path config =
                Files.writeString(directory.resolve("relay.properties"), "OUTBOX_HTTP_AUTHORIZATION=Bearer t0k3n");
        createTable();
        insert("org.organization.created.v1", "{}");
        try (Receiver receiver = Receiver.answering();
                ChildJvm relay = relay(url, "--http-endpoint", receiver.url(), "--config", config.toString())) {
            receiver.require("Bearer other");
            relay.awaitLine(LISTENING, START);

            await().atMost(START)
                    .untilAsserted(() -> assertThat(number("SELECT COUNT(*) FROM org_outbox WHERE last_error LIKE"
                                    + " '%Not for you: Bearer [credentials]'"))
                            .isEqualTo(1));
            assertThat(relay.lines()).noneMatch(some -> some.contains("t0k3n"));
        }
    }

    @Test
    void events_go_to_standard_output_too() throws Exception {
        createTable();
        String eventId = insert("org.organization.created.v1", "{\"name\": \"a\"}");
        try (ChildJvm relay = relay(url, "--transport", "stdout", "--single-active", "false")) {
            String line = relay.awaitLine(eventId, START);

            assertThat(line).contains("\"eventType\":\"org.organization.created.v1\"", "\"payload\":{\"name\": \"a\"}");
            relay.terminate();
            assertThat(relay.waitFor(Duration.ofSeconds(30))).isZero();
        }
    }

    @Test
    void a_standard_output_that_fails_ends_it_with_4_and_costs_no_attempt(@TempDir Path directory) throws Exception {
        createTable();
        insert("org.organization.created.v1", "{}");
        Path log = directory.resolve("log");
        Process relay = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx128m",
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Main.class.getName(),
                        "relay",
                        "--url",
                        url,
                        "--tables",
                        "org_outbox",
                        "--max-attempts",
                        "1",
                        "--bind",
                        "127.0.0.1:0",
                        "--transport",
                        "stdout")
                .redirectOutput(new File("/dev/full")) // every write fails
                .redirectError(log.toFile())
                .start();
        try {
            assertThat(relay.waitFor(60, TimeUnit.SECONDS)).isTrue();
        } finally {
            relay.destroyForcibly();
        }

        assertThat(relay.exitValue()).isEqualTo(ExitCode.FAILED);
        assertThat(Files.readString(log)).contains("Cannot write to standard output");
        assertThat(published()).isZero();
        assertThat(number("SELECT attempts FROM org_outbox")).isZero();
    }

    @Test
    void health_and_metrics_tell_about_the_table() throws Exception {
        createTable();
        try (Receiver receiver = Receiver.answering();
                ChildJvm relay = relay(url, "--http-endpoint", receiver.url(), "--metrics-enabled", "true")) {
            String line = relay.awaitLine(LISTENING, START);
            String health = line.substring(line.indexOf("http://127.0.0.1")).strip();
            insert("org.organization.created.v1", "{}");
            await().atMost(START).untilAsserted(() -> assertThat(published()).isEqualTo(1));

            await().atMost(START)
                    .untilAsserted(() -> assertThat(get(health)).contains("\"status\":\"UP\"", "\"role\":\"leader\""));
            assertThat(number("SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks WHERE locktype = 'advisory'"
                            + " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"))
                    .isEqualTo(LOCK_OF_PUBLIC_ORG_OUTBOX);
            await().atMost(START)
                    .untilAsserted(() -> assertThat(get(health.replace("/health", "/debug/prometheus")))
                            .contains(
                                    "outbox_dispatch_total{result=\"success\",table=\"public.org_outbox\",topic=\"org.organization.created.v1\"} 1",
                                    "outbox_relay_leader{table=\"public.org_outbox\"} 1",
                                    "outbox_pending{table=\"public.org_outbox\"} 0"));
        }
    }

    private static String get(String url) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(url))
                .timeout(Duration.ofSeconds(20))
                .build();
        return HttpClient.newHttpClient()
                .send(request, HttpResponse.BodyHandlers.ofString())
                .body();
    }

    @Test
    void partitions_are_made_ahead_and_dropped_when_they_are_old() throws Exception {
        Run.of("schema", "apply", "--table", "org_outbox", "--partitioned", "--yes", "--url", url);
        execute("DROP TABLE org_outbox_p"
                + number("SELECT to_char(now() AT TIME ZONE 'UTC' + INTERVAL '7 days', 'YYYYMMDD')"));
        execute(
                "CREATE TABLE org_outbox_p20200101 PARTITION OF org_outbox FOR VALUES FROM ('2020-01-01 00:00:00+00') TO"
                        + " ('2020-01-02 00:00:00+00')");
        execute(
                "INSERT INTO org_outbox (tenant_id, topic, payload, event_id, created_at, published_at) VALUES"
                        + " (gen_random_uuid(), 'org.a.b.v1', '{}', gen_random_uuid(), '2020-01-01 12:00:00+00', now() - INTERVAL '8 days')");
        try (Receiver receiver = Receiver.answering();
                ChildJvm relay = relay(
                        url,
                        "--http-endpoint",
                        receiver.url(),
                        "--cleaner-interval",
                        "1s")) { // a purge that finds the table locked leaves the work to the next one
            relay.awaitLine(LISTENING, START);
            insert("org.organization.created.v1", "{}");

            await().atMost(START).untilAsserted(() -> {
                assertThat(number("SELECT COUNT(*) FROM pg_class WHERE relname = 'org_outbox_p20200101'"))
                        .isZero();
                assertThat(number("SELECT COUNT(*) FROM pg_inherits WHERE inhparent = 'org_outbox'::regclass"))
                        .isEqualTo(9); // today, the next seven days, and the default partition
                assertThat(published()).isEqualTo(1);
            });
        }
    }

    @Test
    void wrong_settings_end_with_2_and_say_what_to_change() {
        Run noTable = Run.of(
                "relay", "--url", url, "--tables", "nobody_outbox", "--transport", "stdout", "--bind", "127.0.0.1:0");
        Run retention = Run.of(
                "relay", "--url", url, "--tables", "org_outbox", "--transport", "stdout", "--cleaner-retention=-1h");
        Run bind = Run.of(
                "relay", "--url", url, "--tables", "org_outbox", "--transport", "stdout", "--bind", "0.0.0.0:9470");

        assertThat(noTable.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(noTable.err())
                .contains("There is no table nobody_outbox", "outbox schema apply --table nobody_outbox");
        assertThat(retention.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(retention.err()).contains("--cleaner-retention: must be a span of time such as");
        assertThat(bind.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(bind.err()).contains("set OUTBOX_SERVER_TOKEN", "or bind to 127.0.0.1");
    }

    @Test
    void any_poll_interval_has_a_term_that_a_leader_takes() {
        for (String interval : List.of("PT0.01S", "PT1S", "PT10M", "PT24H")) {
            Duration term = RelayProcess.term(Duration.parse(interval));

            assertThat(JdbcLeadership.of(Shop.inMemory().dataSource(), "org_outbox", term))
                    .isNotNull();
        }
    }

    @Test
    void one_table_under_two_names_is_refused() {
        createTable();

        Run run = Run.of(
                "relay",
                "--url",
                url,
                "--tables",
                "org_outbox,public.org_outbox",
                "--transport",
                "stdout",
                "--bind",
                "127.0.0.1:0");

        assertThat(run.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(run.err())
                .contains("OUTBOX_RELAY_TABLES names one table twice, as org_outbox and as public.org_outbox");
    }

    @Test
    void a_database_that_cannot_be_reached_ends_it_with_4() {
        Run run = Run.of(
                "relay",
                "--url",
                "jdbc:postgresql://127.0.0.1:1/none",
                "--tables",
                "org_outbox",
                "--transport",
                "stdout");

        assertThat(run.exitCode()).isEqualTo(ExitCode.FAILED);
        assertThat(run.err()).contains("Cannot reach the database jdbc:postgresql://127.0.0.1:1/none");
    }
}
