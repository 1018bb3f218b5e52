package outbox.jdbc;

import org.h2.jdbcx.JdbcConnectionPool;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import outbox.OutboxWriter;
import outbox.dispatch.DispatcherCommitHook;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.jdbc.JdbcTransactionManager.Transaction;
import outbox.poller.OutboxPoller;
import outbox.registry.DefaultListenerRegistry;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
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
        var store = JdbcEventStores.detect(pool);
        OutboxSchema.create(pool, store); // tables outbox_event and outbox_audit
        var connections = new DataSourceConnectionProvider(pool);
        var listeners = new DefaultListenerRegistry();
        listeners.register("OrderPlaced", event -> delivered.add(event.payloadJson())); // your code: send it

        try (var dispatcher = OutboxDispatcher.builder() // queues and workers
                        .connectionProvider(connections)
                        .eventStore(store)
                        .listenerRegistry(listeners)
                        .build();
                var poller = OutboxPoller.builder() // the cold path: finds what the hot path missed
                        .connectionProvider(connections)
                        .eventStore(store)
                        .handler(new DispatcherPollerHandler(dispatcher))
                        .build()) {
            poller.start();
            var txContext = new ThreadLocalTxContext();
            var transactions = new JdbcTransactionManager(connections, txContext);
            var writer = new OutboxWriter(txContext, store, new DispatcherCommitHook(dispatcher)); // the hot path
            try (Transaction tx = transactions.begin(); // rolled back unless it gets to its commit
                    var sql = tx.connection().createStatement()) {
                sql.execute("INSERT INTO orders VALUES (1)"); // your business change
                writer.write("OrderPlaced", "{\"id\":1}"); // exists if, and only if, the change commits
                tx.commit();
            }
        } // first closes the poller, then the dispatcher, which finishes what it has
        // endregion
    }

    @ParameterizedTest
    @ValueSource(strings = {"README.md", "README.zh-CN.md"})
    void the_readme_shows_this_very_code(String readme) throws IOException {
        List<String> region = region(Files.readAllLines(Path.of("src/test/java/outbox/jdbc/QuickStartTest.java")));

        assertThat(region).isNotEmpty().hasSizeLessThan(30);
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
