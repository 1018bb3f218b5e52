package outbox.cli;

import org.junit.jupiter.api.Test;
import outbox.cli.doctor.Doctor;
import picocli.CommandLine;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;

/** The page docs/reference/cli.md lists every setting, command, check and exit code. */
class CliPageTest {

    private static final Path PAGE = Path.of("..", "docs", "reference", "cli.md");

    private static List<String> rows() throws IOException {
        return Files.readAllLines(PAGE).stream()
                .filter(line -> line.startsWith("|"))
                .toList();
    }

    @Test
    void every_setting_has_a_row_with_its_flag_and_default() throws IOException {
        for (Setting setting : Setting.values()) {
            assertThat(rows()).anySatisfy(row -> {
                assertThat(row).contains("`" + setting.key() + "`");
                setting.flag().ifPresent(flag -> assertThat(row).contains("`" + flag));
                setting.standard().ifPresent(text -> assertThat(row).contains(text));
            });
        }
    }

    @Test
    void every_command_check_and_exit_code_has_a_row() throws IOException {
        List<String> commands = List.copyOf(
                OutboxCommand.commandLine(Io.system()).getSubcommands().keySet());
        CommandLine.Model.CommandSpec command =
                OutboxCommand.commandLine(Io.system()).getCommandSpec();

        List<String> rows = rows();
        for (String name : commands) {
            assertThat(rows).anySatisfy(row -> assertThat(row).startsWith("| `" + name));
        }
        for (String check : Doctor.checks()) {
            assertThat(rows).anySatisfy(row -> assertThat(row).startsWith("| `" + check + "` |"));
        }
        command.usageMessage()
                .exitCodeList()
                .forEach((code, meaning) ->
                        assertThat(rows).anySatisfy(row -> assertThat(row).startsWith("| " + code + " |")));
    }
}
