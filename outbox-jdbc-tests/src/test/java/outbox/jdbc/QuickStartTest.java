package outbox.jdbc;

import org.h2.jdbcx.JdbcConnectionPool;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

import static org.assertj.core.api.Assertions.assertThat;

/** The first program that a reader of the README writes. */
class QuickStartTest {

    @Test
    @Timeout(60)
    void the_quick_start_delivers_its_event() throws Exception {
        BlockingQueue<String> delivered = new LinkedBlockingQueue<>();

        quickStart(delivered);

        assertThat(delivered).containsExactly("{\"id\":1}");
    }

    private static void quickStart(BlockingQueue<String> delivered) throws SQLException {
        // region quick-start
        var pool = JdbcConnectionPool.create("jdbc:h2:mem:a;INIT=CREATE TABLE IF NOT EXISTS orders (id INT)", "", "");
        try (var outbox = JdbcOutbox.on(pool)
                .createTables() // outbox_event and outbox_audit
                .listen("OrderPlaced", event -> delivered.add(event.payloadJson())) // your code: send it
                .start()) {
            outbox.transaction(tx -> {
                tx.execute("INSERT INTO orders VALUES (1)"); // your business change
                tx.write("OrderPlaced", "{\"id\":1}"); // exists if, and only if, the change commits
            });
        } // finishes what it has begun, and closes everything in the right order
        // endregion
    }

    @Test
    @Timeout(60)
    void options_are_set_in_the_same_chain() throws Exception {
        BlockingQueue<String> delivered = new LinkedBlockingQueue<>();
        JdbcOutbox.Builder settings = JdbcOutbox.on(JdbcConnectionPool.create("jdbc:h2:mem:options", "", ""))
                .createTables()
                .listen("OrderPlaced", event -> delivered.add(event.payloadJson()))
                // region options
                .dispatcher(dispatcher -> dispatcher.workerCount(8).maxAttempts(5))
                .poller(poller -> poller.intervalMs(200))
                .purge(purge -> purge.retention(Duration.ofDays(1)));
        // endregion
        try (JdbcOutbox outbox = settings.start()) {
            outbox.transaction(tx -> tx.write("OrderPlaced", "{}"));
        }

        assertThat(delivered).containsExactly("{}");
    }

    @ParameterizedTest
    @ValueSource(strings = {"README.md", "README.zh-CN.md"})
    void the_readme_shows_this_code_in_at_most_twelve_lines(String readme) throws IOException {
        List<String> region = region(Files.readAllLines(Path.of("src/test/java/outbox/jdbc/QuickStartTest.java")));

        assertThat(region).isNotEmpty().hasSizeLessThan(13);
        assertThat(Files.readString(Path.of("..", readme))).contains(String.join("\n", region));
    }

    private static List<String> region(List<String> lines) {
        return lines.stream()
                .dropWhile(line -> !line.strip().equals("// region quick-start"))
                .skip(1)
                .takeWhile(line -> !line.strip().equals("// endregion"))
                .map(line -> line.isBlank() ? "" : line.substring("        ".length()))
                .toList();
    }
}
