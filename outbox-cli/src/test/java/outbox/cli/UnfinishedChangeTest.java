package outbox.cli;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import outbox.testing.fault.ChildJvm;
import outbox.testing.server.PostgresServer;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** An interrupted bulk request reports that it is unfinished, and continues with the command that it prints. */
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("process")
class UnfinishedChangeTest {

    private final Shop shop = Shop.at(PostgresServer.shared().createDatabase());

    private void givenDead(int count) throws Exception {
        shop.execute(
                "INSERT INTO outbox_event (event_id, event_type, payload, status, attempts, available_at, created_at,"
                        + " done_at, last_error) SELECT 'e' || lpad(i::text, 6, '0'), 'order.paid', '{}', 3, 1, now(), now(),"
                        + " now(), 'x' FROM generate_series(1, " + count + ") i");
    }

    private void onUpdate(String body) throws Exception {
        shop.execute(
                "CREATE OR REPLACE FUNCTION trap() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " + body
                        + " RETURN NEW; END $$",
                "CREATE TRIGGER trap BEFORE UPDATE ON outbox_event FOR EACH ROW EXECUTE FUNCTION trap()");
    }

    private String audit() throws Exception {
        return shop.ask("SELECT string_agg(affected || ' ' || (finished_at IS NOT NULL), ',') FROM outbox_audit");
    }

    /** Runs the command unchanged; the environment names the database. */
    private Run run(String command) {
        String[] words = command.split(" ", -1);
        return run(Arrays.copyOfRange(words, 1, words.length));
    }

    private Run run(String[] arguments) {
        return Run.with(
                Map.of("OUTBOX_JDBC_URL", shop.url()), question -> Optional.empty(), Clock.systemUTC(), arguments);
    }

    @Test
    void a_failure_of_the_database_on_the_way_is_told_with_the_way_on() throws Exception {
        givenDead(1200);
        onUpdate("IF NEW.event_id = 'e001100' THEN RAISE 'disk full'; END IF;");
        String[] arguments = {
            "replay",
            "--type",
            "order.paid",
            "--cap",
            "5000",
            "--rate",
            "1000",
            "--table",
            "outbox_event",
            "--reason",
            "x",
            "--yes"
        };

        Run failed = run(arguments);
        String command = failed.out().replaceAll("(?s).*go on with: ([^\\n]+)\\s*$", "$1");
        shop.execute("DROP TRIGGER trap ON outbox_event");
        shop.execute("UPDATE outbox_event SET status = 3, done_at = now() + INTERVAL '1 second'"
                + " WHERE event_id = 'e000001'");
        Run repeated = run(command.replace(" --continue", ""));
        Run goneOn = run(command);

        assertThat(failed.exitCode()).isEqualTo(ExitCode.FAILED);
        assertThat(failed.err()).contains("disk full");
        assertThat(failed.out()).contains("1,000 of 1,200 done, not finished; go on with: outbox replay --type");
        assertThat(repeated.exitCode()).isEqualTo(ExitCode.PROBLEM);
        assertThat(repeated.out()).contains("1,000 of 1,200 done, not finished");
        assertThat(goneOn.exitCode()).as(goneOn.out() + goneOn.err()).isEqualTo(ExitCode.OK);
        assertThat(audit()).isEqualTo("1200 true");
        assertThat(shop.ask("SELECT string_agg(event_id, ',') FROM outbox_event WHERE status = 3"))
                .isEqualTo("e000001"); // it was replayed once and died again
    }

    @Test
    void a_signal_ends_it_between_two_portions_with_the_way_on(@TempDir Path directory) throws Exception {
        Path config = directory.resolve("outbox.properties");
        Files.writeString(config, "OUTBOX_JDBC_URL=" + shop.url() + "\n");
        givenDead(2000);
        onUpdate("PERFORM pg_sleep(0.003);");
        try (ChildJvm child = ChildJvm.of(Main.class)
                .jvmOptions("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
                .arguments(
                        "replay",
                        "--type",
                        "order.paid",
                        "--cap",
                        "5000",
                        "--rate",
                        "1000",
                        "--table",
                        "outbox_event",
                        "--reason",
                        "x",
                        "--yes",
                        "--json",
                        "--config",
                        config.toString())
                .start()) {
            await().atMost(Duration.ofSeconds(60))
                    .until(() -> shop.ask("SELECT COALESCE(SUM(affected), 0) FROM outbox_audit")
                            .equals("500"));
            child.terminate();
            child.waitFor(Duration.ofSeconds(60));
            shop.execute("DROP TRIGGER trap ON outbox_event");
            String line = child.lines().stream()
                    .filter(text -> text.contains("continueWith"))
                    .findFirst()
                    .orElseThrow(() -> new AssertionError(String.join("\n", child.lines())));
            long before = Long.parseLong(shop.ask("SELECT affected FROM outbox_audit"));

            Run goneOn = run(line.replaceAll(".*\" : \"(.*)\".*", "$1"));

            assertThat(child.lines()).anyMatch(text -> text.contains("\"complete\" : false"));
            assertThat(child.lines()).anyMatch(text -> text.contains("\"affected\" : " + before));
            assertThat(before).isLessThan(2000);
            assertThat(goneOn.exitCode()).as(goneOn.out() + goneOn.err()).isEqualTo(ExitCode.OK);
            assertThat(audit()).isEqualTo("2000 true");
            assertThat(shop.ask("SELECT COUNT(*) FROM outbox_event WHERE status = 0"))
                    .isEqualTo("2000");
        }
    }

    @Test
    void the_way_on_is_quoted_and_shows_no_url_that_may_hold_a_password() {
        Secrets secrets = new Secrets();
        secrets.add("jdbc:postgresql://db/shop?password=hush");

        String command = ShellWords.continuing(
                List.of(
                        "replay",
                        "--url",
                        "jdbc:postgresql://db/shop?password=hush",
                        "--reason",
                        "it's 5 o'clock",
                        "--request-id",
                        "old",
                        "--continue"),
                "r1",
                secrets);

        assertThat(command)
                .isEqualTo("outbox replay --reason 'it'\\''s 5 o'\\''clock' --request-id r1 --continue"
                        + " # and --url as before");
    }

    @Test
    void going_on_needs_a_request_that_was_begun() throws Exception {
        givenDead(1);

        Run noId = Shop.run(
                shop.url(), "discard", "e000001", "--table", "outbox_event", "--reason", "x", "--yes", "--continue");
        Run unknown = Shop.run(
                shop.url(),
                "discard",
                "e000001",
                "--table",
                "outbox_event",
                "--reason",
                "x",
                "--yes",
                "--request-id",
                "r1",
                "--continue");

        assertThat(noId.err()).contains("--continue needs --request-id");
        assertThat(unknown.err()).contains("There is no request r1 to go on with");
        assertThat(noId.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(unknown.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(shop.ask("SELECT COUNT(*) FROM outbox_event")).isEqualTo("1");
    }
}
