package outbox.samples.demo;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** Starts the demo as a separate process and checks its output, as a user would. */
@Tag("process")
class DemoTest {

    @TempDir
    private Path directory;

    private Path output;
    private final List<Process> started = new ArrayList<>();

    @BeforeEach
    void nameOutput() {
        output = directory.resolve("output.txt");
    }

    @AfterEach
    void stopProcesses() {
        started.forEach(Process::destroyForcibly);
    }

    @Test
    void the_books_balance_after_a_run() throws Exception {
        Process demo = demo("--seconds", "3");

        assertThat(exitCode(demo)).isZero();
        assertThat(output())
                .contains("s left: written ", "the outbox is empty", "The books balance.")
                .containsPattern("delivered hot [1-9]")
                .containsPattern(", cold [1-9]")
                .containsPattern("retried [1-9]")
                .containsPattern("order 50 +5 attempts +java.io.IOException: No carrier delivers to Atlantis")
                .doesNotContain("WRONG", "WARNING", "SEVERE", "\u001b");
    }

    @Test
    void a_run_that_is_stopped_early_still_balances_its_books() throws Exception {
        Process demo = demo("--seconds", "600");
        await().atMost(Duration.ofSeconds(60)).until(() -> output().contains("s left: written "));

        demo.destroy(); // like Ctrl-C

        assertThat(exitCode(demo)).isZero();
        assertThat(output()).contains("The books balance.");
    }

    @Test
    void a_terminal_gets_a_table_that_is_redrawn_in_place() throws Exception {
        ProcessBuilder builder = java("-Doutbox.terminal=true", "--seconds", "1");
        builder.environment().put("TERM", "xterm");

        assertThat(exitCode(start(builder))).isZero();
        assertThat(output()).contains("Outbox demo: ordering", "\u001b[13A", "commit to delivery, hot    p50 ");
    }

    @Test
    void a_dumb_terminal_gets_plain_lines() throws Exception {
        ProcessBuilder builder = java("-Doutbox.terminal=true", "--seconds", "1");
        builder.environment().put("TERM", "dumb");

        assertThat(exitCode(start(builder))).isZero();
        assertThat(output()).contains("s left: written ").doesNotContain("\u001b");
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "3601", "-1", "1.5", "many", "99999999999"})
    void a_wrong_number_of_seconds_is_refused_with_the_range(String seconds) throws Exception {
        assertThat(exitCode(demo("--seconds", seconds))).isEqualTo(2);
        assertThat(output()).contains("--seconds needs a whole number from 1 to 3600, but got " + seconds);
    }

    @Test
    void an_unknown_argument_is_refused_with_what_is_known() throws Exception {
        assertThat(exitCode(demo("--minutes", "1"))).isEqualTo(2);
        assertThat(output()).contains("'--minutes'", "--seconds N", "--help");
    }

    @Test
    void help_explains_the_arguments() throws Exception {
        assertThat(exitCode(demo("--help"))).isZero();
        assertThat(output()).contains("--seconds N", "Exit code");
    }

    @Test
    void the_launcher_explains_its_commands_and_refuses_unknown_ones() throws Exception {
        String launcher =
                Path.of("..", "..", "outbox").toAbsolutePath().normalize().toString();

        assertThat(exitCode(start(new ProcessBuilder("bash", launcher)))).isZero();
        assertThat(output()).contains("demo [--seconds N]");

        assertThat(exitCode(start(new ProcessBuilder("bash", launcher, "dmeo"))))
                .isEqualTo(2);
        assertThat(output()).contains("Unknown command 'dmeo'", "demo [--seconds N]");
    }

    private Process demo(String... args) throws IOException {
        return start(java("-Doutbox.terminal=false", args));
    }

    private static ProcessBuilder java(String option, String... args) {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                option,
                "-cp",
                System.getProperty("java.class.path"),
                Main.class.getName()));
        command.addAll(List.of(args));
        return new ProcessBuilder(command);
    }

    private Process start(ProcessBuilder builder) throws IOException {
        Process process = builder.redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        started.add(process);
        return process;
    }

    private static int exitCode(Process process) throws InterruptedException {
        assertThat(process.waitFor(90, TimeUnit.SECONDS)).isTrue();
        return process.exitValue();
    }

    private String output() throws IOException {
        return Files.readString(output);
    }
}
