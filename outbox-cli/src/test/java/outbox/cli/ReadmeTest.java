package outbox.cli;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.testing.fault.ChildJvm;
import outbox.testing.server.PostgresServer;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** Runs the three commands of the README; the test replaces only the database and the endpoint. */
@Timeout(180)
@Tag("process")
class ReadmeTest {

    private static final Duration START = Duration.ofSeconds(60);
    private static final String ENDPOINT = "http://127.0.0.1:8080/events";

    private final String url = PostgresServer.shared().createDatabase();

    /** The only line that begins with the text, without a comment at its end. */
    private static String line(String page, String start) throws IOException {
        List<String> lines = Files.readAllLines(Path.of("..", page)).stream()
                .filter(line -> line.startsWith(start))
                .toList();
        assertThat(lines).hasSize(1);
        return lines.get(0).replaceAll(" +# .*", "");
    }

    private static List<String> arguments(String command) {
        List<String> words = new ArrayList<>(List.of(command.split(" +", -1)));
        assertThat(words.remove(0)).isEqualTo("./outbox");
        return words;
    }

    /** The text in double quotes, as a shell passes it. */
    private static String sql(String psql) {
        Matcher quoted = Pattern.compile(" -c \"((?:[^\"\\\\]|\\\\.)*)\"").matcher(psql);
        assertThat(quoted.find()).isTrue();
        return quoted.group(1).replaceAll("\\\\(.)", "$1");
    }

    @Test
    void both_languages_have_the_same_commands() throws IOException {
        for (String start : List.of("./outbox schema", "./outbox relay", "psql ")) {
            assertThat(line("README.zh-CN.md", start)).isEqualTo(line("README.md", start));
        }
    }

    @Test
    void a_newcomer_relays_a_row_by_three_commands() throws Exception {
        List<String> schema = arguments(line("README.md", "./outbox schema"));
        List<String> relay = new ArrayList<>(arguments(line("README.md", "./outbox relay")));
        String insert = sql(line("README.md", "psql "));
        assertThat(relay).contains(ENDPOINT);

        Run applied = Run.with(
                Map.of("OUTBOX_JDBC_URL", url),
                question -> Optional.empty(),
                Clock.systemUTC(),
                schema.toArray(String[]::new));
        assertThat(applied.exitCode()).as(applied.err()).isEqualTo(ExitCode.OK);

        try (Receiver receiver = Receiver.answering()) {
            relay.replaceAll(word -> word.equals(ENDPOINT) ? receiver.url() : word);
            relay.addAll(List.of("--url", url, "--bind", "127.0.0.1:0"));
            try (ChildJvm process = ChildJvm.of(Main.class)
                    .jvmOptions("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
                    .arguments(relay.toArray(String[]::new))
                    .start()) {
                process.awaitLine("health at http://", START);
                Shop.bare(url).execute(insert);

                await().atMost(START).until(() -> !receiver.posts().isEmpty());
                assertThat(receiver.posts().get(0).type()).isEqualTo("org.organization.created.v1");
                assertThat(receiver.posts().get(0).body()).isEqualTo("{\"name\": \"Ada\"}");
            }
        }
    }
}
