package outbox.cli;

import org.junit.jupiter.api.Test;
import outbox.internal.text.PrintableText;

import java.time.Clock;
import java.util.Map;
import java.util.Optional;

import static org.assertj.core.api.Assertions.assertThat;

class LookCommandsTest {

    private final Shop shop = Shop.inMemory();

    @Test
    void status_counts_by_status_and_type() throws Exception {
        shop.write("order.placed");
        shop.writeDone("order.placed");
        shop.writeDead("order.paid", "no such account");

        Run run = Run.of("status", "--url", shop.url());

        assertThat(run.exitCode()).isEqualTo(ExitCode.OK);
        assertThat(run.out()).contains("1 new, 0 to retry, 1 dead, 1 done");
        assertThat(run.out()).containsPattern("order\\.paid +DEAD +1");
    }

    @Test
    void status_answers_programs_in_json() throws Exception {
        shop.write("order.placed");

        Run run = Run.of("status", "--json", "--table", "outbox_event", "--url", shop.url());

        assertThat(run.out())
                .contains("\"NEW\" : 1", "\"type\" : \"order.placed\"")
                .containsPattern("\"oldestPendingSeconds\" : \\d{1,2},"); // a busy machine may need a second
    }

    @Test
    void status_can_leave_out_what_is_done() throws Exception {
        shop.write("order.placed");
        shop.writeDone("order.placed");

        Run run = Run.of("status", "--pending", "--url", shop.url());

        assertThat(run.out()).contains("outbox_event: 1 pending, 0 of them locked; the oldest waits");
    }

    @Test
    void list_goes_page_by_page() throws Exception {
        String first = shop.write("order.placed");
        String second = shop.write("order.placed");

        Run page = Run.of("list", "--limit", "1", "--oldest-first", "--url", shop.url());
        String cursor = page.err().replaceAll("(?s).*--after (\\S+).*", "$1");
        Run next = Run.of("list", "--limit", "1", "--oldest-first", "--after", cursor, "--url", shop.url());

        assertThat(page.out()).contains(first).doesNotContain(second);
        assertThat(next.out()).contains(second).doesNotContain(first);
    }

    @Test
    void list_finds_by_status_and_error() throws Exception {
        String dead = shop.writeDead("order.paid", "no such account");
        shop.writeDead("order.paid", "time out");

        Run run = Run.of("list", "--status", "dead", "--error", "account", "--json", "--url", shop.url());

        assertThat(run.out()).contains(dead).doesNotContain("time out");
    }

    @Test
    void show_keeps_the_payload_to_itself_unless_asked() throws Exception {
        String id = shop.writeDead("order.paid", "no such account");

        Run discreet = Run.of("show", id, "--url", shop.url());
        Run open = Run.of("show", id, "--payload", "--url", shop.url());

        assertThat(discreet.out()).contains("no such account", "payloadBytes").doesNotContain("secret");
        assertThat(open.out()).contains("{\"secret\":42}");
    }

    @Test
    void show_of_an_event_that_is_not_there_is_a_problem() {
        Run run = Run.of("show", "nobody", "--url", shop.url());

        assertThat(run.exitCode()).isEqualTo(ExitCode.PROBLEM);
        assertThat(run.err()).contains("There is no event nobody");
    }

    @Test
    void a_table_that_is_not_there_is_a_wrong_setting() {
        Run run = Run.of("status", "--table", "org_outbox", "--url", shop.url());

        assertThat(run.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(run.err()).contains("There is no table org_outbox").contains("schema apply");
    }

    @Test
    void a_table_name_that_is_none_is_refused() {
        Run run = Run.of("status", "--table", "a; DROP TABLE b", "--url", shop.url());

        assertThat(run.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(run.err()).contains("is not a table name");
    }

    @Test
    void the_environment_names_the_database_too() {
        Run run = Run.with(
                Map.of("OUTBOX_JDBC_URL", shop.url()), question -> Optional.empty(), Clock.systemUTC(), "status");

        assertThat(run.exitCode()).isEqualTo(ExitCode.OK);
    }

    @Test
    void a_database_that_does_not_answer_is_a_failure() {
        Run run = Run.of("status", "--url", "jdbc:postgresql://127.0.0.1:1/none?ssl=false", "--user", "ada");

        assertThat(run.exitCode()).isEqualTo(ExitCode.FAILED);
        assertThat(run.err()).isNotBlank();
    }

    @Test
    void no_message_shows_a_password() {
        Run noDriver = Run.of("status", "--url", "jdbc:oracle:thin:scott/hush@db");
        Run wrong = Run.with(
                Map.of("PW", "whisper"),
                question -> Optional.empty(),
                Clock.systemUTC(),
                "status",
                "--url",
                "jdbc:h2:tcp://127.0.0.1:1/a",
                "--password-env",
                "PW");

        assertThat(noDriver.exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(noDriver.err()).contains("postgresql").doesNotContain("hush");
        assertThat(wrong.exitCode()).isEqualTo(ExitCode.FAILED);
        assertThat(wrong.err()).isNotBlank().doesNotContain("whisper");
    }

    @Test
    void hostile_events_stay_in_their_cells_and_json_is_exact_and_printable() throws Exception {
        String hostile = "a\r\nb\u001b[2J\u009b\u2028\u202e";
        String id = shop.writeDead(hostile, "no" + hostile);
        shop.write("t".repeat(128));

        Run list = Run.of("list", "--url", shop.url());
        Run show = Run.of("show", id, "--url", shop.url());
        Run json = Run.of("list", "--json", "--url", shop.url());
        Run absent = Run.of("show", hostile, "--url", shop.url());

        assertThat(list.out().lines()).hasSize(3).allSatisfy(LookCommandsTest::assertPrintable);
        assertThat(list.out().lines()).allSatisfy(line -> assertThat(line).hasSizeLessThan(300));
        assertThat(list.out()).contains("a\\r\\nb\\u001b[2J\\u009b\\u2028\\u202e", "t".repeat(63) + "…");
        assertThat(show.out().lines()).allSatisfy(LookCommandsTest::assertPrintable);
        assertThat(json.out().lines()).allSatisfy(LookCommandsTest::assertPrintable);
        assertThat(json.out()).containsIgnoringCase("\"a\\r\\nb\\u001b[2J\\u009b\\u2028\\u202e\"");
        assertThat(absent.err().lines()).hasSize(1).allSatisfy(LookCommandsTest::assertPrintable);
    }

    private static void assertPrintable(String line) {
        assertThat(line.codePoints().allMatch(PrintableText::isPrintable))
                .as(line)
                .isTrue();
    }

    @Test
    void unknown_arguments_and_missing_commands_are_refused() {
        assertThat(Run.of("status", "--colour").exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(Run.of().exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(Run.of("schema").exitCode()).isEqualTo(ExitCode.USAGE);
        assertThat(Run.of("--help").exitCode()).isEqualTo(ExitCode.OK);
        assertThat(Run.of("list", "--from", "yesterday", "--url", shop.url()).exitCode())
                .isEqualTo(ExitCode.USAGE);
    }

    @Test
    void completion_is_generated_for_shells() {
        Run run = Run.of("generate-completion");

        assertThat(run.exitCode()).isEqualTo(ExitCode.OK);
        assertThat(run.out()).contains("complete -F _complete_outbox");
    }
}
