package outbox.jdbc;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.internal.DatabaseClock;
import outbox.poller.OutboxPoller;
import outbox.testing.contract.StoreFixture;

import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Two nodes share a table by claims while the clock of their database jumps. A function that PostgreSQL finds before
 * the built-in one simulates the clock.
 */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PostgresClockJumpTest {

    private static final Duration SOON = Duration.ofSeconds(60);

    private final Logger logger = Logger.getLogger(DatabaseClock.class.getName());
    private final Messages messages = new Messages();
    private final Deque<AutoCloseable> open = new ArrayDeque<>();
    private final List<String> runs = new CopyOnWriteArrayList<>();
    private final CountDownLatch running = new CountDownLatch(1);
    private final CountDownLatch mayEnd = new CountDownLatch(1);
    private StoreFixture db;

    @BeforeEach
    void createDatabase() {
        logger.addHandler(messages);
        String url = Databases.POSTGRES.url();
        DataSource plain = Databases.newPool(url, 2, true);
        OutboxSchema.create(plain, new PostgresEventStore());
        execute(
                plain,
                "CREATE SCHEMA faked",
                "CREATE TABLE faked.clock (ahead INTERVAL, answers_after DOUBLE PRECISION)",
                // the function is slow, so that the clock is read often
                "INSERT INTO faked.clock VALUES ('0', 0.3)",
                """
                CREATE FUNCTION faked.clock_timestamp() RETURNS TIMESTAMPTZ LANGUAGE plpgsql AS $$
                BEGIN
                    PERFORM pg_sleep(answers_after) FROM faked.clock;
                    RETURN (SELECT pg_catalog.clock_timestamp() + ahead FROM faked.clock);
                END $$
                """);
        DataSource pool = Databases.newPool(
                url + (url.contains("?") ? "&" : "?") + "options=-c%20search_path=faked,pg_catalog,public", 10, true);
        db = new StoreFixture(pool, new PostgresEventStore(), AbstractJdbcEventStore.DEFAULT_TABLE, true);
    }

    @AfterEach
    void closeNodes() throws Exception {
        mayEnd.countDown();
        while (!open.isEmpty()) {
            open.pop().close();
        }
        logger.removeHandler(messages);
    }

    @Test
    void an_event_at_work_is_not_taken_over_when_the_clock_jumps_ahead() throws InterruptedException {
        OutboxPoller first = node("first");
        OutboxPoller second = node("second");
        second.poll(); // reads the time
        db.insert(OrderLog.event("a", 1));
        first.poll();
        running.await();

        execute(db.dataSource(), "UPDATE faked.clock SET ahead = '1 hour'");
        await().atMost(SOON).until(() -> {
            second.poll();
            return messages.hasJump() || runs.size() > 1;
        });
        second.poll();

        assertThat(runs).containsExactly("first");
        mayEnd.countDown();
        await().atMost(SOON).until(() -> db.count("status = 1") == 1);
        db.insert(OrderLog.event("b", 1));
        await().atMost(SOON).until(() -> {
            second.poll();
            return db.count("status = 1") == 2;
        });
        assertThat(runs).containsExactly("first", "second");
    }

    private OutboxPoller node(String name) {
        OutboxDispatcher dispatcher = OutboxDispatcher.builder()
                .connectionProvider(db.dataSource()::getConnection)
                .eventStore(new PostgresEventStore())
                .listenerRegistry((aggregateType, type) -> event -> {
                    runs.add(name);
                    running.countDown();
                    mayEnd.await();
                })
                .build();
        OutboxPoller poller = OutboxPoller.builder()
                .connectionProvider(db.dataSource()::getConnection)
                .eventStore(new PostgresEventStore())
                .handler(new DispatcherPollerHandler(dispatcher))
                .lockTimeout(Duration.ofMinutes(5))
                .build();
        open.push(dispatcher);
        open.push(poller);
        return poller;
    }

    private static void execute(DataSource dataSource, String... statements) {
        try (var connection = dataSource.getConnection();
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Captures the log of a node's database clock. */
    private static final class Messages extends Handler {

        private final List<String> all = new CopyOnWriteArrayList<>();

        boolean hasJump() {
            return all.stream().anyMatch(message -> message.contains("went ahead"));
        }

        @Override
        public void publish(LogRecord record) {
            all.add(record.getMessage());
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    }
}
