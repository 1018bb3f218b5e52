package outbox.cli;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.testing.fault.ChildJvm;
import outbox.testing.server.MariaDbServer;
import outbox.testing.server.PostgresServer;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** The steps of the runbook against common problems, with the command alone. */
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("mariadb")
@Tag("process")
class OperatorScriptsTest {

    private static final Duration LONG = Duration.ofSeconds(60);

    /** Inserted in the order of their ids, so that the pages of the table are full. */
    private static final String MARIADB_EVENTS = """
            INSERT INTO outbox_event (event_id, event_type, payload, status, available_at, created_at)
            SELECT LPAD(seq, 26, '0'), 'order.paid', '{}', 0, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6)
              FROM seq_1_to_2000
            """;

    /** Each fills a page of its own, so that even the claim of one event needs another page. */
    private static final String POSTGRES_EVENTS = """
            INSERT INTO outbox_event (event_id, event_type, payload, status, available_at, created_at)
            SELECT LPAD(i::text, 26, '0'), 'order.paid', REPEAT('x', 7900), 0, now(), now()
              FROM generate_series(1, 200) i
            """;

    private static final String ANOTHER_EVENT = """
            INSERT INTO outbox_event (event_id, event_type, payload, status, available_at, created_at)
            SELECT CONCAT('x', COUNT(*)), 'order.paid', MAX(payload), 0, MAX(available_at), MAX(created_at)
              FROM outbox_event
            """;

    private final Shop shop = Shop.at(PostgresServer.shared().createDatabase());
    private final List<ChildJvm> relays = new ArrayList<>();

    @AfterEach
    void endProcesses() {
        relays.forEach(ChildJvm::close);
    }

    private Run run(String... arguments) {
        return Shop.run(shop.url(), arguments);
    }

    private ChildJvm relay(String... more) {
        return relay(shop, more);
    }

    private ChildJvm relay(Shop of, String... more) {
        List<String> arguments = new ArrayList<>(List.of(
                "relay",
                "--url",
                of.url(),
                "--tables",
                "outbox_event",
                "--bind",
                "127.0.0.1:0",
                "--poll-interval",
                "200ms"));
        arguments.addAll(List.of(more));
        ChildJvm relay = ChildJvm.of(Main.class)
                .jvmOptions("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
                .arguments(arguments.toArray(String[]::new))
                .start();
        relays.add(relay);
        relay.awaitLine("health at http://", LONG);
        return relay;
    }

    private void awaitStatus(String text) {
        awaitStatus(shop, text);
    }

    private static void awaitStatus(Shop of, String text) {
        await().atMost(LONG)
                .untilAsserted(
                        () -> assertThat(Shop.run(of.url(), "status").out()).contains(text));
    }

    @Test
    void a_poison_type_is_found_by_its_error_repaired_and_replayed_or_discarded() throws Exception {
        try (Receiver receiver = Receiver.answering()) {
            receiver.refuse("invoice.sent");
            relay("--http-endpoint", receiver.url());
            for (int i = 0; i < 4; i++) {
                shop.write("invoice.sent");
            }
            shop.write("order.paid");
            awaitStatus("4 dead, 1 done");

            Run errors = run("errors", "--table", "outbox_event");
            String group =
                    errors.out().lines().skip(1).findFirst().orElseThrow().replaceAll(" .*", "");
            Run discarded = run(
                    "errors", "discard", group, "--cap", "1", "--table", "outbox_event", "--reason", "void", "--yes");
            receiver.refuse("");
            Run replayed = run(
                    "errors",
                    "replay",
                    group,
                    "--cap",
                    "100",
                    "--rate",
                    "100",
                    "--table",
                    "outbox_event",
                    "--reason",
                    "repaired",
                    "--yes");

            assertThat(errors.out().lines()).hasSize(2);
            assertThat(errors.out()).contains("invoice.sent", "422");
            assertThat(discarded.exitCode()).as(discarded.err()).isEqualTo(ExitCode.OK);
            assertThat(replayed.exitCode()).as(replayed.err()).isEqualTo(ExitCode.OK);
            awaitStatus("0 dead, 4 done");
            assertThat(run("errors").err()).contains("No event of outbox_event is dead");
        }
    }

    @Test
    void a_blocked_aggregate_is_replayed_or_skipped() throws Exception {
        List<String> heads = new ArrayList<>();
        for (String aggregate : List.of("o-1", "o-2")) {
            heads.add(shop.writeDead("order.paid", "no such account"));
            shop.write("order.shipped");
            shop.execute("UPDATE outbox_event SET aggregate_type = 'Order', aggregate_id = '" + aggregate
                    + "' WHERE aggregate_id IS NULL");
        }

        Run blocked = run("blocked", "--table", "outbox_event");
        Run replayed = run("replay", heads.get(0), "--table", "outbox_event", "--reason", "repaired", "--yes");
        Run skipped = run("skip", heads.get(1), "--table", "outbox_event", "--reason", "never will be", "--yes");

        assertThat(blocked.out()).contains("o-1", heads.get(0), "o-2", heads.get(1), "no such account");
        assertThat(List.of(replayed.exitCode(), skipped.exitCode())).containsOnly(ExitCode.OK);
        assertThat(run("blocked").err()).contains("No aggregate of outbox_event is blocked");
        assertThat(run("audit").out()).contains("REPLAY", "repaired", "SKIP", "never will be");
    }

    @Test
    void the_claims_of_a_node_that_froze_are_released_and_another_node_delivers_them() throws Exception {
        try (Receiver hanging = Receiver.hanging();
                Receiver answering = Receiver.answering()) {
            ChildJvm frozen = relay("--single-active", "false", "--lock-ttl", "10m", "--http-endpoint", hanging.url());
            String id = shop.write("order.paid");
            await().atMost(LONG).until(() -> !hanging.posts().isEmpty());
            frozen.freeze();

            Run nodes = run("nodes", "--table", "outbox_event");
            String node = nodes.out()
                    .lines()
                    .filter(line -> line.contains("pid-" + frozen.pid()))
                    .findFirst()
                    .orElseThrow(() -> new AssertionError(nodes.out()))
                    .replaceAll(" .*", "");
            Run early = run("release", node, "--table", "outbox_event", "--reason", "frozen", "--yes");
            await().atMost(LONG)
                    .until(() -> run(
                                            "release",
                                            node,
                                            "--silent-for",
                                            "1s",
                                            "--table",
                                            "outbox_event",
                                            "--reason",
                                            "frozen",
                                            "--yes")
                                    .exitCode()
                            == ExitCode.OK);
            relay("--single-active", "false", "--http-endpoint", answering.url());

            assertThat(early.exitCode()).isEqualTo(ExitCode.PROBLEM);
            assertThat(early.err()).contains("it is not gone");
            awaitStatus("0 dead, 1 done");
            assertThat(answering.posts()).anyMatch(post -> post.id().equals(id));
        }
    }

    @Test
    void a_table_that_nobody_relays_is_seen_at_a_glance() throws Exception {
        shop.write("order.paid");
        shop.execute("UPDATE outbox_event SET available_at = now() - INTERVAL '1 hour', created_at = available_at");

        Run status = run("status", "--json");
        Run doctor = run("doctor", "--table", "outbox_event");
        Run nodes = run("nodes");
        relay("--transport", "stdout");
        awaitStatus("0 new");

        assertThat(status.out()).contains("\"overdueSeconds\" : 36", "\"leader\" : null");
        assertThat(doctor.exitCode()).isEqualTo(ExitCode.PROBLEM);
        assertThat(doctor.out()).contains("relay:");
        assertThat(nodes.out()).contains("No session leads outbox_event", "Nobody holds claims");
        assertThat(run("nodes").out()).contains("Led by session");
    }

    /** The tables of this server are on a small disk, and another table fills it. */
    @Test
    void on_postgresql_a_full_disk_that_has_room_again_needs_no_restart_and_no_replay() throws Exception {
        try (PostgresServer server = PostgresServer.startWithSmallDisk(16)) {
            Shop full = Shop.at(server.createDatabase());
            full.execute("ALTER TABLE outbox_event ALTER payload SET STORAGE PLAIN");
            full.execute("CREATE TABLE photos (content TEXT STORAGE PLAIN)");

            assertOutlivesFullDisk(
                    full, POSTGRES_EVENTS, e -> e.getSQLState().equals("53100"), "No space left on device");
        }
    }

    /** The storage of this server is limited, like a disk, and another table fills all of it. */
    @Test
    void on_mariadb_a_full_disk_that_has_room_again_needs_no_restart_and_no_replay() throws Exception {
        try (MariaDbServer server = MariaDbServer.start(
                Map.of("innodb-file-per-table", "0", "innodb-data-file-path", "ibdata1:12M:autoextend:max:16M"))) {
            Shop full = Shop.at(server.createDatabase());
            full.execute("CREATE TABLE photos (content VARCHAR(6000))");

            assertOutlivesFullDisk(full, MARIADB_EVENTS, e -> e.getErrorCode() == 1114, "outbox_event' is full");
        }
    }

    private void assertOutlivesFullDisk(Shop full, String events, Predicate<SQLException> isFull, String error)
            throws Exception {
        try (Receiver receiver = Receiver.answering()) {
            // without a leader: one that loses the lead on a busy machine counts attempts of what it had begun
            ChildJvm relay = relay(
                    full, "--single-active", "false", "--http-endpoint", receiver.url(), "--health-max-silence", "2s");
            String health = healthUrl(relay);
            awaitHealth(health, 200, "\"status\":\"UP\"");
            try (Connection order = full.connect();
                    Statement statement = order.createStatement()) {
                order.setAutoCommit(false);
                statement.execute(events); // the relay must not see them before the disk is full
                insertUntilFull(full, "INSERT INTO photos VALUES (REPEAT('x', 6000))", isFull);
                order.commit();
            }
            insertUntilFull(full, ANOTHER_EVENT, isFull);
            String count = full.ask("SELECT COUNT(*) FROM outbox_event");

            awaitHealth(health, 503, "has not looked at the table", error);
            Run status = Shop.run(full.url(), "status");
            String harmed = full.ask("SELECT COUNT(*) FROM outbox_event WHERE attempts > 0 OR status = 3");
            full.execute("DROP TABLE photos");

            awaitStatus(full, "0 new, 0 to retry, 0 dead, " + count + " done");
            awaitHealth(health, 200, "\"lastError\":null");
            assertThat(status.exitCode()).as(status.err()).isEqualTo(ExitCode.OK);
            assertThat(status.out()).contains(" new, 0 to retry, 0 dead");
            assertThat(harmed).isEqualTo("0");
            assertThat(full.ask("SELECT COUNT(*) FROM outbox_event WHERE attempts > 0"))
                    .isEqualTo("0");
            assertThat(receiver.posts().stream().map(Receiver.Post::id).distinct())
                    .hasSize(Integer.parseInt(count));
            assertThat(relay.lines()).anyMatch(line -> line.contains(error));
            assertThat(relay.isAlive()).isTrue();
        }
    }

    /** The rows must be small, because MariaDB does not survive the failure of a large one. */
    private static void insertUntilFull(Shop shop, String sql, Predicate<SQLException> isFull) throws SQLException {
        try (Connection connection = shop.connect();
                Statement statement = connection.createStatement()) {
            int refusals = 0;
            while (refusals < 20) { // in a row
                try {
                    statement.execute(sql);
                    refusals = 0;
                } catch (SQLException e) {
                    assertThat(isFull.test(e)).as(e.getMessage()).isTrue();
                    refusals++;
                }
            }
        }
    }

    private static String healthUrl(ChildJvm relay) {
        String line = relay.lines().stream()
                .filter(printed -> printed.contains("health at http://"))
                .findFirst()
                .orElseThrow();
        return line.substring(line.indexOf("http://"));
    }

    private static void awaitHealth(String url, int status, String... words) {
        HttpRequest request = HttpRequest.newBuilder(URI.create(url)).build();
        await().atMost(LONG).untilAsserted(() -> {
            HttpResponse<String> health =
                    HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
            assertThat(health.body()).contains(words);
            assertThat(health.statusCode()).as(health.body()).isEqualTo(status);
        });
    }
}
