package outbox.cli;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import outbox.testing.server.PostgresServer;
import picocli.CommandLine;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

/** The pages for operators contain only existing commands and options; the test runs those that change nothing. */
class RunbookTest {

    private static final Pattern INLINE = Pattern.compile("`(outbox [^`]+)`");
    private static final Pattern WORD = Pattern.compile("\"([^\"]*)\"|'([^']*)'|(\\S+)");
    private static final Set<String> READ =
            Set.of("status", "list", "show", "nodes", "blocked", "errors", "audit", "doctor");

    /** Lines of code blocks, and inline code, that begin with the command. */
    private static List<String> commands(String page) throws IOException {
        List<String> found = new ArrayList<>();
        boolean isCode = false;
        for (String line : Files.readAllLines(Path.of("..", "docs", "reference", page))) {
            if (line.startsWith("```")) {
                isCode = !isCode;
            } else if (isCode && line.replaceFirst("^\\$ ", "").startsWith("outbox ")) {
                found.add(line.replaceFirst("^\\$ ", "").replaceFirst("\\s+#.*$", ""));
            } else if (!isCode) {
                INLINE.matcher(line).results().map(match -> match.group(1)).forEach(found::add);
            }
        }
        return found;
    }

    /** The arguments without the name of the command; a placeholder becomes a word. */
    private static String[] words(String command) {
        List<String> words = new ArrayList<>();
        Matcher matcher = WORD.matcher(command.replace("--table …", "--table org_outbox")
                .replace("…", "x")
                .replace("FINGERPRINT", "0123456789ab"));
        while (matcher.find()) {
            words.add(matcher.group().replaceAll("^[\"']|[\"']$", ""));
        }
        return words.subList(1, words.size()).toArray(String[]::new);
    }

    @ParameterizedTest
    @ValueSource(strings = {"runbook.md", "cli.md"})
    void every_command_is_one_that_the_parser_takes(String page) throws IOException {
        List<String> commands = commands(page);

        assertThat(commands).hasSizeGreaterThan(3);
        for (String command : commands) {
            CommandLine parser = OutboxCommand.commandLine(Io.system());
            if (isWhole(command)) {
                assertThatCode(() -> parser.parseArgs(words(command)))
                        .as(page + ": " + command)
                        .doesNotThrowAnyException();
            } else {
                assertThat(parser.getSubcommands()).as(page + ": " + command).containsKey(words(command)[0]);
            }
        }
    }

    /** Whether the command is complete. A name alone, as in a sentence, may lack required options. */
    private static boolean isWhole(String command) {
        return command.contains(" -");
    }

    @Test
    void every_command_that_changes_nothing_runs() throws Exception {
        Shop shop = Shop.at(PostgresServer.shared().createDatabase());
        Shop.run(shop.url(), "schema", "apply", "--table", "org_outbox", "--max-attempts", "25", "--yes");
        int count = 0;
        for (String command : commands("runbook.md")) {
            String[] words = words(command);
            boolean isRead =
                    READ.contains(words[0]) && !List.of("replay", "discard").contains(words.length > 1 ? words[1] : "")
                            || words[0].equals("schema") && words[1].equals("check");
            if (isRead || command.contains("--dry-run")) {
                Run run = Shop.run(shop.url(), words);
                count++;

                assertThat(run.exitCode()).as(command + ": " + run.err()).isIn(ExitCode.OK, ExitCode.PROBLEM);
            }
        }
        assertThat(count).isGreaterThan(10);
    }
}
