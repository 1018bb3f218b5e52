package outbox.cli;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.testing.ChildJvm;
import outbox.testing.PostgresServer;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** What a new operator does about the usual troubles, from the runbook, with the command alone. */
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class OperatorScriptsTest {

    private static final Duration LONG = Duration.ofSeconds(60);

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
        List<String> arguments = new ArrayList<>(List.of(
                "relay",
                "--url",
                shop.url(),
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
        await().atMost(LONG).untilAsserted(() -> assertThat(run("status").out()).contains(text));
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
}
