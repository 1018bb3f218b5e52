package outbox.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.DedupKeys;
import outbox.EventEnvelope;
import outbox.EventRef;
import outbox.OutboxWriter;
import outbox.OutboxWriter.Change;
import outbox.dispatch.DispatcherCommitHook;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.RetryPolicy;
import outbox.jdbc.JdbcTransactionManager.Transaction;
import outbox.memory.MemoryEventStore;
import outbox.poller.OutboxPoller;
import outbox.registry.DefaultListenerRegistry;
import outbox.spi.EventStore;

import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** The same use cases on events in memory and in a table. Only one line of configuration differs. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SwapTest {

    @Test
    void the_effects_are_the_same_in_memory_and_in_a_table() throws Exception {
        Map<String, Integer> inMemory = effects(MemoryEventStore::new);
        Map<String, Integer> inTable = effects(tx -> new H2EventStore());

        assertThat(inMemory)
                .isEqualTo(inTable)
                .containsEntry("enrolled 7", 1)
                .containsEntry("enrolled 8", 1)
                .containsEntry("attempt of flaky", 3)
                .containsEntry("flaky", 1)
                .containsEntry("later", 1)
                .containsEntry("answers", 4)
                .hasSize(6);
    }

    /** Runs the use cases and returns their effects with counts. */
    private static Map<String, Integer> effects(Function<ThreadLocalTxContext, EventStore> wiring) throws Exception {
        HikariDataSource pool = Databases.newPool(Databases.H2.url(), 6, true);
        OutboxSchema.create(pool, new H2EventStore(), Capability.KEYS);
        execute(pool, "CREATE TABLE enrollment (id INT PRIMARY KEY)");
        Map<String, Integer> effects = new ConcurrentHashMap<>();
        ThreadLocalTxContext tx = new ThreadLocalTxContext();
        EventStore store = wiring.apply(tx);
        DefaultListenerRegistry listeners = new DefaultListenerRegistry()
                .register("enrollment", "EnrollmentCreated", event -> count(effects, "enrolled " + event.aggregateId()))
                .register("later", event -> count(effects, "later"))
                .register("flaky", event -> {
                    if (count(effects, "attempt of flaky") < 3) {
                        throw new IllegalStateException("not yet");
                    }
                    count(effects, "flaky");
                });
        try (OutboxDispatcher dispatcher = OutboxDispatcher.builder()
                        .connectionProvider(pool::getConnection)
                        .eventStore(store)
                        .listenerRegistry(listeners)
                        .retryPolicy(RetryPolicy.fixed(Duration.ofMillis(20)))
                        .build();
                OutboxPoller poller = OutboxPoller.builder()
                        .connectionProvider(pool::getConnection)
                        .eventStore(store)
                        .handler(new DispatcherPollerHandler(dispatcher))
                        .intervalMs(100)
                        .build()) {
            poller.start();
            UseCases cases = new UseCases(
                    new JdbcTransactionManager(pool::getConnection, tx),
                    new OutboxWriter(tx, store, new DispatcherCommitHook(dispatcher)));
            effects.put(
                    "answers", (int) cases.run().stream().filter(made -> made).count());
            await().atMost(Duration.ofSeconds(20))
                    .until(() -> effects.containsKey("flaky")
                            && effects.containsKey("later")
                            && effects.containsKey("enrolled 7")
                            && effects.containsKey("enrolled 8"));
        }
        return new TreeMap<>(effects);
    }

    private static int count(Map<String, Integer> effects, String effect) {
        return effects.merge(effect, 1, Integer::sum);
    }

    private static void execute(HikariDataSource pool, String sql) throws SQLException {
        try (var connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    /** The use cases. They use the writer and the transactions, but not the store. */
    private record UseCases(JdbcTransactionManager transactions, OutboxWriter writer) {

        List<Boolean> run() throws SQLException {
            List<Boolean> made = new ArrayList<>();
            made.add(enrol(7));
            made.add(enrol(7)); // the business table rejects it
            made.add(enrol(8));
            try (Transaction tx = transactions.begin()) {
                String later = writer.write(EventEnvelope.builder("later")
                        .dedupKey("later")
                        .deliverAfter(Duration.ofMillis(300))
                        .payloadJson("{}")
                        .build());
                made.add(later.equals(writer.write(EventEnvelope.builder("later")
                        .dedupKey("later")
                        .payloadJson("{}")
                        .build()))); // the second write does nothing
                writer.write("flaky", "{}");
                writer.write(EventEnvelope.builder("later")
                        .eventId("cancelled")
                        .deliverAfter(Duration.ofHours(1))
                        .payloadJson("{}")
                        .build());
                tx.commit();
            }
            try (Transaction tx = transactions.begin()) {
                made.add(writer.cancel(EventRef.id("cancelled")) == Change.MADE);
                tx.commit();
            }
            try (Transaction tx = transactions.begin()) {
                writer.write("later", "{}");
                tx.rollback();
            }
            return made;
        }

        private boolean enrol(int id) throws SQLException {
            try (Transaction tx = transactions.begin();
                    Statement insert = tx.connection().createStatement()) {
                writer.write(EventEnvelope.builder("EnrollmentCreated")
                        .aggregateType("enrollment")
                        .aggregateId(String.valueOf(id))
                        .dedupKey(DedupKeys.natural("enrollment", String.valueOf(id)))
                        .payloadJson("{}")
                        .build());
                insert.execute("INSERT INTO enrollment VALUES (" + id + ")");
                tx.commit();
                return true;
            } catch (SQLException e) {
                return false;
            }
        }
    }
}
