package outbox.cli;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import outbox.testing.server.PostgresServer;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** {@code /health} reports the state of the relay under all kinds of faults. */
@Timeout(180)
class RelayHealthTest {

    private static final Duration LIMIT = Duration.ofSeconds(90);
    private static final int HOSTILE_ROWS = 60;
    private static final List<String> STRANGE_VALUES = List.of(
            "topic = repeat('t', 10000)",
            "topic = E'a\\u202e\\u001b[31m\\n'",
            "payload = '[1e30000]'",
            "payload = to_jsonb(repeat('p', 60000))",
            "created_at = '0001-01-01'",
            "available_at = '0001-01-01'");
    private static final List<String> BAD_VALUES = List.of(
            "created_at = '-infinity'",
            "created_at = 'infinity'",
            "created_at = '294276-12-31'",
            "available_at = '-infinity'",
            "available_at = 'infinity'",
            "available_at = '0001-01-01 BC'",
            "locked_at = 'infinity'",
            "payload = to_jsonb(repeat('p', 2200000))");

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
    void rows_that_cannot_be_delivered_are_counted_as_dead_and_leave_it_up_while_others_flow() throws Exception {
        long seed = Long.getLong("outbox.hostile.seed", new Random().nextLong());
        createTable();
        try (Receiver receiver = Receiver.answering()) {
            HostileRows rows;
            try (RelayProcess relay = relay(receiver.url(), "OUTBOX_HEALTH_MAX_SILENCE", "60s")) {
                awaitHealth(relay, 200, "\"role\":\"leader\"");
                rows = insertHostile(new Random(seed));
                await().atMost(LIMIT).until(() -> {
                    HttpResponse<String> health = get(relay, "/health");
                    assertThat(health.statusCode())
                            .as("seed " + seed + health.body())
                            .isEqualTo(200);
                    return ask("SELECT COUNT(*) FROM org_outbox WHERE published_at IS NULL AND attempts < 25") == 0;
                });
            }

            int bad = (int) ask("SELECT COUNT(*) FROM org_outbox WHERE published_at IS NULL");
            assertThat(bad).as("seed " + seed).isBetween(rows.bad() - rows.locked(), rows.bad());
            try (RelayProcess relay = relay(receiver.url())) { // it counts dead events at its start
                awaitHealth(relay, 200, "\"pending\":0", "\"dead\":" + bad + ",");
                assertThat(ids(receiver)).as("seed " + seed).hasSize(HOSTILE_ROWS - bad);
                execute("ALTER TABLE org_outbox RENAME TO org_outbox_moved");
                awaitHealth(relay, 503, "has not looked at the table", "\"dead\":" + bad + ",");
                execute("ALTER TABLE org_outbox_moved RENAME TO org_outbox");
                insert("0");
                await().atMost(LIMIT).until(() -> ids(receiver).size() == HOSTILE_ROWS - bad + 1);
                awaitHealth(relay, 200, "\"lastError\":null");
            }
        }
    }

    /**
     * The ids of received events without duplicates: a relay that loses leadership on a slow machine delivers again.
     */
    private static Set<String> ids(Receiver receiver) {
        return receiver.posts().stream().map(Receiver.Post::id).collect(Collectors.toSet());
    }

    /**
     * The number of rows with a bad column, and how many of them have a bad lock time. A claim replaces that time. If
     * the connection breaks before the relay reads what it claimed, the next claim finds a good row and delivers it.
     */
    private record HostileRows(int bad, int locked) {}

    /** Inserts rows with strange values that can be delivered, and rows with one bad column. */
    private HostileRows insertHostile(Random random) throws SQLException {
        int bad = 0;
        int locked = 0;
        for (int i = 0; i < HOSTILE_ROWS; i++) {
            boolean isBad = random.nextInt(3) == 0;
            List<String> values = isBad ? BAD_VALUES : STRANGE_VALUES;
            String strange = values.get(random.nextInt(values.size()));
            Map<String, String> row = new TreeMap<>(Map.of("topic", "'org.created.v1'", "payload", "'{}'"));
            row.put("tenant_id", "gen_random_uuid()");
            row.put("event_id", "gen_random_uuid()");
            row.put(strange.substring(0, strange.indexOf(' ')), strange.substring(strange.indexOf('=') + 1));
            execute("INSERT INTO org_outbox (" + String.join(", ", row.keySet()) + ") VALUES ("
                    + String.join(", ", row.values()) + ")");
            bad += isBad ? 1 : 0;
            locked += strange.startsWith("locked_at") ? 1 : 0;
        }
        return new HostileRows(bad, locked);
    }

    private long ask(String sql) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getLong(1);
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

    @ParameterizedTest
    @CsvSource({"P0001, not today", "53100, could not extend file: No space left on device"})
    void a_relay_that_cannot_write_outcomes_is_down_says_why_and_shows_no_row(String state, String why)
            throws Exception {
        createTable();
        execute("""
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    RAISE EXCEPTION '%s' USING ERRCODE = '%s', DETAIL = NEW.payload::text;
                END $$""".formatted(why, state));
        execute("CREATE TRIGGER refuse BEFORE UPDATE ON org_outbox FOR EACH ROW"
                + " WHEN (NEW.published_at IS NOT NULL) EXECUTE FUNCTION refuse()");
        try (Receiver receiver = Receiver.answering();
                RelayProcess relay = relay(receiver.url())) {
            awaitHealth(relay, 200, "\"marksFailingSeconds\":null");
            insert("0");

            awaitHealth(relay, 503, "\"reason\":\"Outcomes of events cannot be written for", why + "\"");
            assertThat(get(relay, "/health").body()).doesNotContain("of the customer");
            execute("DROP TRIGGER refuse ON org_outbox");

            awaitHealth(relay, 200, "\"marksFailingSeconds\":null");
            await().atMost(LIMIT)
                    .until(() -> ask("SELECT COUNT(*) FROM org_outbox WHERE published_at IS NOT NULL AND attempts = 0")
                            == 1);
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
