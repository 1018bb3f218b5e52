package outbox.cli;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.testing.PostgresServer;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** {@code /health} says what the relay does, whatever is wrong. */
@Timeout(180)
class RelayHealthTest {

    private static final Duration LIMIT = Duration.ofSeconds(90);

    private final String url = PostgresServer.shared().createDatabase();

    private RelayProcess relay(String endpoint, String... more) throws SQLException {
        Map<String, String> environment = new HashMap<>(Map.of(
                "OUTBOX_JDBC_URL", url,
                "OUTBOX_RELAY_TABLES", "org_outbox",
                "OUTBOX_RELAY_POLL_INTERVAL", "100ms",
                "OUTBOX_HEALTH_MAX_SILENCE", "2s",
                "OUTBOX_HTTP_ENDPOINT", endpoint,
                "OUTBOX_SERVER_BIND", "127.0.0.1:0",
                "PROMETHEUS_METRICS_ENABLED", "true"));
        for (int i = 0; i < more.length; i += 2) {
            environment.put(more[i], more[i + 1]);
        }
        return RelayProcess.start(
                RelaySettings.of(new Settings(Map.of(), environment, null), new Secrets()), why -> {});
    }

    private void createTable() {
        assertThat(Run.of("schema", "apply", "--table", "org_outbox", "--yes", "--url", url)
                        .exitCode())
                .isEqualTo(ExitCode.OK);
    }

    private void execute(String sql) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private void insert(String attempts) throws SQLException {
        execute("INSERT INTO org_outbox (tenant_id, topic, payload, event_id, attempts) VALUES ('" + UUID.randomUUID()
                + "', 'org.created.v1', '{\"secret\": \"of the customer\"}', '" + UUID.randomUUID() + "', " + attempts
                + ")");
    }

    private static HttpResponse<String> get(RelayProcess relay, String path) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + relay.port() + path))
                .timeout(Duration.ofSeconds(20))
                .build();
        return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
    }

    private static void awaitHealth(RelayProcess relay, int status, String... words) {
        await().atMost(LIMIT).untilAsserted(() -> {
            HttpResponse<String> health = get(relay, "/health");
            assertThat(health.body()).contains(words);
            assertThat(health.statusCode()).as(health.body()).isEqualTo(status);
        });
    }

    @Test
    void a_relay_that_works_is_up_and_tells_about_its_table_by_one_name() throws Exception {
        createTable();
        insert("25");
        try (Receiver receiver = Receiver.answering();
                RelayProcess relay = relay(receiver.url())) {
            awaitHealth(
                    relay,
                    200,
                    "\"status\":\"UP\",\"database\":\"reached\"",
                    "\"public.org_outbox\":{\"status\":\"UP\"",
                    "\"role\":\"leader\"",
                    "\"secondsSinceLook\":",
                    "\"pending\":0",
                    "\"overdueSeconds\":0",
                    "\"dead\":1",
                    "\"lastError\":null");
            assertThat(get(relay, "/debug/prometheus").body())
                    .contains(
                            "outbox_dead_events{table=\"public.org_outbox\"} 1",
                            "outbox_pending{table=\"public.org_outbox\"} 1",
                            "outbox_since_poll_seconds{table=\"public.org_outbox\"}",
                            "outbox_since_purge_seconds{table=\"public.org_outbox\"}")
                    .doesNotContain("table=\"org_outbox\"");
            try (RelayProcess standby = relay(receiver.url(), "OUTBOX_RELAY_TABLES", "public.org_outbox")) {
                awaitHealth(standby, 200, "\"public.org_outbox\":{\"status\":\"UP\"", "\"role\":\"standby\"");
            }
        }
    }

    @Test
    void a_relay_that_cannot_look_at_its_table_is_down_and_says_why_until_it_can() throws Exception {
        createTable();
        try (Receiver receiver = Receiver.answering();
                RelayProcess relay = relay(receiver.url())) {
            awaitHealth(relay, 200, "\"role\":\"leader\"");

            execute("ALTER TABLE org_outbox RENAME TO org_outbox_moved");

            awaitHealth(
                    relay,
                    503,
                    "\"status\":\"DOWN\",\"database\":\"reached\"",
                    "has not looked at the table",
                    "does not exist");

            execute("ALTER TABLE org_outbox_moved RENAME TO org_outbox");

            awaitHealth(relay, 200, "\"lastError\":null");
        }
    }

    @Test
    void a_relay_that_cannot_write_outcomes_is_down_and_shows_no_row() throws Exception {
        createTable();
        execute("""
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    RAISE EXCEPTION 'not today' USING DETAIL = NEW.payload::text;
                END $$""");
        execute("CREATE TRIGGER refuse BEFORE UPDATE ON org_outbox FOR EACH ROW"
                + " WHEN (NEW.published_at IS NOT NULL) EXECUTE FUNCTION refuse()");
        try (Receiver receiver = Receiver.answering();
                RelayProcess relay = relay(receiver.url())) {
            awaitHealth(relay, 200, "\"marksFailingSeconds\":null");
            insert("0");

            awaitHealth(relay, 503, "\"reason\":\"Outcomes of events cannot be written for");
            assertThat(get(relay, "/health").body()).doesNotContain("of the customer");
            execute("DROP TRIGGER refuse ON org_outbox");

            awaitHealth(relay, 200, "\"marksFailingSeconds\":null");
        }
    }

    @Test
    void a_table_that_is_locked_makes_it_down_and_no_request_waits_for_the_lock() throws Exception {
        createTable();
        try (Receiver receiver = Receiver.answering();
                RelayProcess relay = relay(receiver.url(), "OUTBOX_RELAY_DATABASE_TIMEOUT", "1s");
                Connection locking = DriverManager.getConnection(url)) {
            awaitHealth(relay, 200, "\"pending\":0");
            locking.setAutoCommit(false);
            try (Statement statement = locking.createStatement()) {
                statement.execute("LOCK TABLE org_outbox IN ACCESS EXCLUSIVE MODE");
            }

            awaitHealth(relay, 503, "has not looked at the table");

            locking.rollback();
            awaitHealth(relay, 200, "\"role\":\"leader\"");
        }
    }

    @Test
    void a_receiver_that_is_away_is_seen_by_its_breaker_and_is_no_fault_of_the_relay() throws Exception {
        createTable();
        int port;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        try (RelayProcess relay = relay("http://127.0.0.1:" + port + "/events")) {
            for (int i = 0; i < 10; i++) {
                insert("0");
            }

            awaitHealth(relay, 200, "\"breakers\":{\"http\":\"open\"}", "\"lastError\":\"java.net.ConnectException");
            assertThat(get(relay, "/health").body()).doesNotContain("of the customer");
        }
    }

    @Test
    void on_postgresql_two_spellings_of_a_table_have_one_label() throws Exception {
        createTable();
        try (Receiver receiver = Receiver.answering();
                RelayProcess relay = relay(
                        receiver.url(),
                        "OUTBOX_RELAY_TABLES",
                        "org_outbox",
                        "OUTBOX_CLEANER_TABLES",
                        "public.ORG_OUTBOX")) {
            String metrics = get(relay, "/debug/prometheus").body();

            assertThat(metrics.lines().filter(line -> line.startsWith("outbox_purged_total")))
                    .singleElement()
                    .asString()
                    .startsWith("outbox_purged_total{table=\"public.org_outbox\"}");
        }
    }
}
