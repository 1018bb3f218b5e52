package outbox.jdbc;

import org.h2.jdbcx.JdbcConnectionPool;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.OutboxWriter;
import outbox.registry.DefaultListenerRegistry;
import outbox.runtime.OutboxRuntime;
import outbox.spi.Leadership;

import java.sql.SQLException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/** The order in which the parts of an engine start and stop. */
@Timeout(60)
class RuntimeTest {

    private static final Duration SECONDS = Duration.ofSeconds(30);

    private final JdbcConnectionPool pool = JdbcConnectionPool.create(Databases.H2.url(), "", "");
    private final DataSourceConnectionProvider connections = new DataSourceConnectionProvider(pool);
    private final H2EventStore store = new H2EventStore();

    @BeforeEach
    void createTable() {
        OutboxSchema.create(pool, store);
    }

    @AfterEach
    void closePool() {
        pool.dispose();
    }

    private final class Led implements Leadership {
        final CompletableFuture<Long> doneWhenClosed = new CompletableFuture<>();

        @Override
        public boolean lead() {
            return true;
        }

        @Override
        public boolean isLeader() {
            return true;
        }

        @Override
        public void close() {
            doneWhenClosed.complete(done());
        }
    }

    @Test
    void the_leadership_ends_when_running_deliveries_have_ended_and_their_outcomes_are_written() throws Exception {
        CountDownLatch running = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        Led leadership = new Led();
        OutboxRuntime runtime = OutboxRuntime.builder(connections, store)
                .leadership(leadership)
                .dispatcher(dispatcher -> dispatcher
                        .listenerRegistry(new DefaultListenerRegistry().register("Slow", event -> {
                            running.countDown();
                            end.await();
                        }))
                        .drainTimeoutMs(SECONDS.toMillis()))
                .poller(poller -> poller.intervalMs(20))
                .build();
        runtime.start();
        write(runtime);
        running.await();

        CompletableFuture<Void> closing = CompletableFuture.runAsync(runtime::close);
        await().atMost(SECONDS).until(() -> threads().stream().noneMatch(name -> name.contains("poller")));
        assertThat(leadership.doneWhenClosed).isNotDone();
        end.countDown();
        closing.get();

        assertThat(leadership.doneWhenClosed.get()).isEqualTo(1);
    }

    @Test
    void a_poller_that_cannot_be_built_leaves_no_thread_behind() {
        Set<String> before = threads();

        assertThatThrownBy(() -> OutboxRuntime.builder(connections, store)
                        .dispatcher(dispatcher -> dispatcher.listenerRegistry(new DefaultListenerRegistry()))
                        .poller(poller -> poller.batchSize(0))
                        .build())
                .isInstanceOf(IllegalArgumentException.class);

        await().atMost(SECONDS).until(() -> before.containsAll(threads()));
    }

    @Test
    void closing_twice_or_without_a_start_is_fine() {
        OutboxRuntime runtime = OutboxRuntime.builder(connections, store)
                .dispatcher(dispatcher -> dispatcher.listenerRegistry(new DefaultListenerRegistry()))
                .purge(purge -> {})
                .build();

        runtime.close();
        runtime.close();
    }

    private void write(OutboxRuntime runtime) {
        ThreadLocalTxContext context = new ThreadLocalTxContext();
        try (var tx = new JdbcTransactionManager(connections, context).begin()) {
            new OutboxWriter(context, store, runtime.hook()).write("Slow", "{}");
            tx.commit();
        }
    }

    private long done() {
        try (var connection = pool.getConnection();
                var sql = connection.createStatement();
                var rows = sql.executeQuery("SELECT COUNT(*) FROM outbox_event WHERE status = 1")) {
            rows.next();
            return rows.getLong(1);
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    private static Set<String> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .map(Thread::getName)
                .filter(name -> name.startsWith("outbox-"))
                .collect(Collectors.toSet());
    }
}
