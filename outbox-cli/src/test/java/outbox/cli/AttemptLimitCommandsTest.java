package outbox.cli;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.testing.fault.ChildJvm;
import outbox.testing.server.PostgresServer;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** The commands read from the database when events of a module's table are dead. */
@Timeout(180)
@Tag("process")
class AttemptLimitCommandsTest {

    private static final Duration START = Duration.ofSeconds(60);
    private static final String[] SURE = {"--reason", "ticket 17", "--yes"};

    private Shop shop = Shop.inMemory(); // replaced before each test

    @BeforeEach
    void createTable() {
        shop = Shop.bare(PostgresServer.shared().createDatabase());
        assertThat(Run.of(on("schema", "apply", "--yes")).exitCode()).isEqualTo(ExitCode.OK);
    }

    private String[] on(String... arguments) {
        List<String> all = new ArrayList<>(List.of(arguments));
        all.addAll(List.of("--table", "org_outbox", "--url", shop.url()));
        return all.toArray(String[]::new);
    }

    private static String[] and(String[] first, String... more) {
        List<String> all = new ArrayList<>(List.of(first));
        all.addAll(List.of(more));
        return all.toArray(String[]::new);
    }

    private String insert(int attempts) throws Exception {
        String id = UUID.randomUUID().toString();
        shop.execute("INSERT INTO org_outbox (tenant_id, topic, payload, event_id, attempts) VALUES ('"
                + UUID.randomUUID() + "', 'org.organization.created.v1', '{}', '" + id + "', " + attempts + ")");
        return id;
    }

    private void limit(int number) {
        Run run = Run.of(on("schema", "apply", "--max-attempts", "" + number, "--yes"));
        assertThat(run.exitCode()).as(run.err()).isEqualTo(ExitCode.OK);
    }

    @Test
    void what_died_of_a_relays_limit_is_dead_for_commands_that_were_told_nothing() throws Exception {
        String id = insert(0);
        try (Receiver receiver = Receiver.answering();
                ChildJvm relay = ChildJvm.of(Main.class)
                        .jvmOptions("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
                        .arguments(
                                "relay",
                                "--url",
                                shop.url(),
                                "--tables",
                                "public.org_outbox",
                                "--max-attempts",
                                "3",
                                "--http-endpoint",
                                receiver.url(),
                                "--bind",
                                "127.0.0.1:0")
                        .start()) {
            receiver.answer(500);
            relay.awaitLine("health at http://", START);
            await().atMost(START)
                    .until(() -> shop.ask("SELECT attempts FROM org_outbox").equals("3"));
        }

        Run status = Run.of(on("status"));
        Run list = Run.of(on("list", "--status", "DEAD"));
        Run discarded = Run.of(and(on("discard", id), SURE));

        assertThat(status.out()).contains("0 new, 0 to retry, 1 dead");
        assertThat(status.err()).isEmpty();
        assertThat(list.out()).contains(id);
        assertThat(discarded.exitCode()).as(discarded.err()).isEqualTo(ExitCode.OK);
        assertThat(discarded.out()).contains("attempts >= 3", "Done: 1 events");
    }

    @Test
    void an_event_at_attempt_5_of_25_cannot_be_discarded() throws Exception {
        limit(25);
        String id = insert(5);

        Run wrong = Run.of(and(on("discard", id, "--max-attempts", "5"), SURE));
        Run plain = Run.of(and(on("discard", id), SURE));

        assertThat(wrong.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(wrong.err())
                .contains(
                        "org_outbox are dead after 25 attempts",
                        "--max-attempts says 5",
                        "outbox schema apply --table org_outbox --max-attempts 5");
        assertThat(plain.out()).contains("Rows: 0");
        assertThat(shop.ask("SELECT COUNT(*) FROM org_outbox")).isEqualTo("1");
    }

    @Test
    void another_limit_is_refused_by_every_command_and_by_the_relay() throws Exception {
        limit(3);
        insert(3);
        List<String[]> commands = List.of(
                on("status", "--max-attempts", "25"),
                on("list", "--max-attempts", "25"),
                on("doctor", "--max-attempts", "25"),
                and(on("replay", "x", "--max-attempts", "25"), SURE),
                and(on("purge", "--retention", "1h", "--dead-retention", "1h", "--max-attempts", "25"), SURE),
                new String[] {
                    "relay",
                    "--url",
                    shop.url(),
                    "--tables",
                    "org_outbox",
                    "--max-attempts",
                    "25",
                    "--transport",
                    "stdout",
                    "--bind",
                    "127.0.0.1:0"
                });

        for (String[] command : commands) {
            Run run = Run.of(command);
            assertThat(run.exitCode()).as(command[0]).isEqualTo(ExitCode.USAGE);
            assertThat(run.err()).as(command[0]).contains("are dead after 3 attempts", "--max-attempts says 25");
        }
        assertThat(Run.of(on("status", "--max-attempts", "3")).out()).contains("1 dead");
    }

    @Test
    void a_table_whose_limit_is_not_known_is_shown_but_not_changed_and_says_what_to_run() throws Exception {
        String id = insert(25);
        shop.execute("DROP TABLE outbox_attempt_limit"); // as in a database without this table

        Run status = Run.of(on("status"));
        Run discard = Run.of(and(on("discard", id, "--max-attempts", "5"), SURE));
        Run replay = Run.of(and(on("replay", id), SURE));
        Run deadPurge = Run.of(and(on("purge", "--retention", "1h", "--dead-retention", "1h"), SURE));
        Run purge = Run.of(and(on("purge", "--retention", "1h"), SURE));
        Run check = Run.of(on("schema", "check"));

        String fix = "outbox schema apply --table org_outbox --max-attempts N";
        assertThat(status.exitCode()).isEqualTo(ExitCode.OK);
        assertThat(status.out()).contains("1 dead");
        assertThat(status.err()).contains(fix, "Here it is taken as 25");
        for (Run refused : List.of(discard, replay, deadPurge)) {
            assertThat(refused.exitCode()).isEqualTo(ExitCode.USAGE);
            assertThat(refused.err()).contains("does not know after how many attempts", fix);
        }
        assertThat(purge.exitCode()).as(purge.err()).isEqualTo(ExitCode.OK);
        assertThat(check.exitCode()).isEqualTo(ExitCode.PROBLEM);
        assertThat(check.out())
                .contains("There is no table outbox_attempt_limit", "run: outbox schema apply --table org_outbox");

        limit(25);

        assertThat(Run.of(on("schema", "check")).exitCode()).isEqualTo(ExitCode.OK);
        assertThat(Run.of(and(on("discard", id), SURE)).exitCode()).isEqualTo(ExitCode.OK);
        assertThat(shop.ask("SELECT COUNT(*) FROM org_outbox")).isEqualTo("0");
    }

    @Test
    void a_change_of_the_limit_is_shown_and_kills_and_revives_nothing() throws Exception {
        limit(3);
        insert(3);
        insert(2);

        Run shown = Run.of(on("schema", "apply", "--max-attempts", "10"));
        assertThat(shown.exitCode()).isEqualTo(ExitCode.NOT_CONFIRMED);
        assertThat(shown.out()).contains("dead after 10 attempts", "until now 3", "Stop the relays");
        assertThat(Run.of(on("status")).out()).contains("1 to retry, 1 dead");

        limit(10);
        assertThat(Run.of(on("status")).out()).contains("1 to retry, 1 dead");
        limit(2);

        assertThat(Run.of(on("status")).out()).contains("1 to retry, 1 dead");
        assertThat(Run.of(on("schema", "apply", "--yes")).exitCode()).isEqualTo(ExitCode.OK); // records no limit
        assertThat(shop.ask("SELECT max_attempts FROM outbox_attempt_limit")).isEqualTo("2");
    }
}
