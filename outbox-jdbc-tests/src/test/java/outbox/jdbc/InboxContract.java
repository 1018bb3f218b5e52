package outbox.jdbc;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.OutboxException;
import outbox.OutboxWriter;
import outbox.TransactionStateException;
import outbox.inbox.IdempotentListener;
import outbox.inbox.Inbox;
import outbox.inbox.InboxException;
import outbox.testing.contract.StoreFixture;
import outbox.testing.fault.FaultyDataSource;
import outbox.testing.fault.FaultyDataSource.Call;

import java.io.IOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** Contract tests for an inbox, on every database. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class InboxContract {

    static final int THREADS = 8;

    final Databases database;
    final ThreadLocalTxContext txContext = new ThreadLocalTxContext();
    StoreFixture db;
    JdbcInbox inbox;

    InboxContract(Databases database) {
        this.database = database;
    }

    @BeforeEach
    void createTables() throws SQLException {
        db = database.fixtureWith("inbox", pool -> {
            OutboxSchema.createInbox(pool, inboxOn(pool).build());
            try (Connection connection = pool.getConnection();
                    Statement statement = connection.createStatement()) {
                statement.execute("CREATE TABLE effect (event_id VARCHAR(64) NOT NULL)");
            }
        });
        inbox = inboxOn(db.dataSource()).build();
    }

    JdbcInbox.Builder inboxOn(DataSource dataSource) {
        return JdbcInbox.builder()
                .connectionProvider(new DataSourceConnectionProvider(dataSource))
                .txContext(txContext);
    }

    @Test
    void an_event_takes_effect_once() throws SQLException {
        assertThat(inbox.handle("billing", "e1", effect("e1"))).isTrue();
        assertThat(inbox.handle("billing", "e1", effect("e1"))).isFalse();

        assertThat(effects("e1")).isEqualTo(1);
    }

    @Test
    void each_consumer_handles_an_event_once() throws SQLException {
        assertThat(inbox.handle("billing", "e1", effect("e1"))).isTrue();
        assertThat(inbox.handle("shipping", "e1", effect("e1"))).isTrue();

        assertThat(effects("e1")).isEqualTo(2);
    }

    @Test
    void copies_at_the_same_time_take_effect_once() throws Exception {
        List<String> ids = ids(30);
        AtomicInteger handled = new AtomicInteger();

        onAllThreads(() -> {
            for (String id : ids) {
                if (inbox.handle("billing", id, effect(id))) {
                    handled.incrementAndGet();
                }
            }
        });

        assertEachTookEffectOnce(ids);
        assertThat(handled).hasValue(ids.size());
    }

    @Test
    void copies_take_effect_once_though_actions_fail_at_the_first_time() throws Exception {
        List<String> ids = ids(20);
        List<AtomicInteger> runs = ids.stream().map(id -> new AtomicInteger()).toList();

        onAllThreads(() -> {
            for (int i = 0; i < ids.size(); i++) {
                String id = ids.get(i);
                AtomicInteger run = runs.get(i);
                untilAnswered(() -> inbox.handle("billing", id, connection -> {
                    effect(id).run(connection);
                    if (run.incrementAndGet() <= 3) {
                        throw new InboxException("the test wants it to come again", null);
                    }
                }));
            }
        });

        assertEachTookEffectOnce(ids);
    }

    @Test
    void copies_take_effect_once_though_commits_fail_before_or_after_their_effect() throws Exception {
        List<String> ids = ids(30);
        FaultyDataSource faulty = new FaultyDataSource(db.dataSource());
        JdbcInbox shaky = inboxOn(faulty).build();
        List<FaultyDataSource.Fault> faults = new ArrayList<>();
        for (int i = 1; i <= 8; i++) {
            faults.add(faulty.failBefore(3 * i, Call.to("commit"), "08006"));
            faults.add(faulty.failAfter(2 * i, Call.to("commit"), "08006"));
        }

        onAllThreads(() -> {
            for (String id : ids) {
                untilAnswered(() -> shaky.handle("billing", id, effect(id)));
            }
        });

        assertThat(faults).allMatch(FaultyDataSource.Fault::happened);
        assertEachTookEffectOnce(ids);
    }

    @Test
    void a_copy_waits_for_the_first_and_runs_if_that_fails() throws Exception {
        CountDownLatch running = new CountDownLatch(1);
        CountDownLatch fail = new CountDownLatch(1);
        ExecutorService threads = Executors.newFixedThreadPool(2);
        try {
            Future<Boolean> first = threads.submit(() -> inbox.handle("billing", "e1", connection -> {
                running.countDown();
                assertThat(fail.await(30, TimeUnit.SECONDS)).isTrue();
                throw new IOException("no");
            }));
            assertThat(running.await(30, TimeUnit.SECONDS)).isTrue();
            Future<Boolean> second = threads.submit(() -> inbox.handle("billing", "e1", effect("e1")));

            assertThatThrownBy(() -> second.get(300, TimeUnit.MILLISECONDS)).isInstanceOf(TimeoutException.class);
            fail.countDown();

            assertThat(second.get(30, TimeUnit.SECONDS)).isTrue();
            assertThatThrownBy(() -> first.get(30, TimeUnit.SECONDS)).hasCauseInstanceOf(IOException.class);
        } finally {
            threads.shutdownNow();
        }
        assertThat(effects("e1")).isEqualTo(1);
    }

    @Test
    void a_failure_leaves_no_mark_and_is_thrown_as_it_is() throws Exception {
        IOException failure = new IOException("no");

        assertThatThrownBy(() -> inbox.handle("billing", "e1", connection -> {
                    effect("e1").run(connection);
                    throw failure;
                }))
                .isSameAs(failure);

        assertThat(effects("e1")).isZero();
        assertThat(inbox.handle("billing", "e1", effect("e1"))).isTrue();
    }

    @Test
    void an_error_leaves_no_mark_either() throws SQLException {
        assertThatThrownBy(() -> inbox.handle("billing", "e1", connection -> {
                    throw new StackOverflowError();
                }))
                .isInstanceOf(StackOverflowError.class);

        assertThat(inbox.handle("billing", "e1", effect("e1"))).isTrue();
    }

    @Test
    void events_that_the_action_writes_belong_to_its_transaction() throws SQLException {
        OutboxWriter writer = new OutboxWriter(txContext, db.store());

        inbox.handle("billing", "e1", connection -> writer.write(EventEnvelope.ofJson("T", "{}")));
        assertThatThrownBy(() -> inbox.handle("billing", "e2", connection -> {
                    writer.write(EventEnvelope.ofJson("T", "{}"));
                    throw new IOException("no");
                }))
                .isInstanceOf(IOException.class);

        assertThat(db.count("1 = 1")).isEqualTo(1);
    }

    @Test
    void a_transaction_of_the_caller_is_joined() throws SQLException {
        JdbcTransactionManager transactions =
                new JdbcTransactionManager(new DataSourceConnectionProvider(db.dataSource()), txContext);
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            assertThat(inbox.handle("billing", "e1", effect("e1"))).isTrue();
            tx.rollback();
        }
        assertThat(effects("e1")).isZero();
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            assertThat(inbox.handle("billing", "e1", effect("e1"))).isTrue();
            assertThat(inbox.handle("billing", "e1", effect("e1"))).isFalse();
            // the transaction is still usable after a duplicate
            effect("e1").run(tx.connection());
            tx.commit();
        }

        assertThat(effects("e1")).isEqualTo(2);
        assertThat(inbox.handle("billing", "e1", effect("e1"))).isFalse();
    }

    @Test
    void a_joined_transaction_cannot_commit_after_its_action_failed() throws SQLException {
        JdbcTransactionManager transactions =
                new JdbcTransactionManager(new DataSourceConnectionProvider(db.dataSource()), txContext);
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            assertThatThrownBy(() -> inbox.handle("billing", "e1", connection -> {
                        throw new IOException("no");
                    }))
                    .isInstanceOf(IOException.class);
            assertThatThrownBy(tx::commit).isInstanceOf(OutboxException.class).hasMessageContaining("e1");
        }

        assertThat(inbox.handle("billing", "e1", effect("e1"))).isTrue();
    }

    @Test
    void a_savepoint_of_the_caller_takes_the_mark_with_it() throws SQLException {
        JdbcTransactionManager transactions =
                new JdbcTransactionManager(new DataSourceConnectionProvider(db.dataSource()), txContext);
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            var savepoint = tx.connection().setSavepoint();
            assertThat(inbox.handle("billing", "e1", effect("e1"))).isTrue();
            tx.connection().rollback(savepoint);
            tx.commit();
        }

        assertThat(inbox.handle("billing", "e1", effect("e1"))).isTrue();
    }

    @Test
    void an_action_may_handle_another_event() throws SQLException {
        inbox.handle("billing", "e1", connection -> {
            effect("e1").run(connection);
            assertThat(inbox.handle("billing", "e2", effect("e2"))).isTrue();
            effect("e1").run(connection);
        });

        assertThat(effects("e1")).isEqualTo(2);
        assertThat(inbox.handle("billing", "e2", effect("e2"))).isFalse();
    }

    @Test
    void without_a_context_an_action_may_handle_another_event_too() throws SQLException {
        Inbox plain = JdbcInbox.builder()
                .connectionProvider(new DataSourceConnectionProvider(db.dataSource()))
                .build();

        plain.handle("billing", "e1", connection -> {
            assertThat(plain.handle("billing", "e2", effect("e2"))).isTrue();
            effect("e1").run(connection);
        });

        assertThat(plain.handle("billing", "e1", effect("e1"))).isFalse();
        assertThat(effects("e1")).isEqualTo(1);
    }

    @Test
    void a_transaction_that_an_action_left_open_is_not_joined_by_the_next_event() throws SQLException {
        JdbcTransactionManager transactions =
                new JdbcTransactionManager(new DataSourceConnectionProvider(db.dataSource()), txContext);

        assertThatThrownBy(() -> inbox.handle("billing", "e1", connection -> transactions.begin()))
                .isInstanceOf(TransactionStateException.class);

        assertThat(txContext.isTransactionActive()).isFalse();
        assertThat(inbox.handle("billing", "e1", effect("e1"))).isTrue();
        assertThat(effects("e1")).isEqualTo(1);
    }

    @Test
    void a_transaction_that_the_database_rolled_back_under_its_action_is_not_committed() throws SQLException {
        assertThatThrownBy(() -> inbox.handle("billing", "e1", connection -> {
                    loseTransaction(connection);
                    if (database != Databases.POSTGRES) {
                        effect("e1").run(connection);
                    }
                }))
                .isInstanceOf(EventStoreException.class)
                .hasMessageContaining("swallow");

        assertThat(effects("e1")).isZero();
        assertThat(inbox.handle("billing", "e1", effect("e1"))).isTrue();
    }

    /** Aborts the transaction, like a swallowed failure: any failure on PostgreSQL, a deadlock elsewhere. */
    private void loseTransaction(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            if (database == Databases.POSTGRES) {
                assertThatThrownBy(() -> statement.execute("SELECT 1 / 0")).isInstanceOf(SQLException.class);
            } else {
                statement.execute("ROLLBACK");
            }
        }
    }

    @Test
    void a_database_that_is_away_is_not_the_fault_of_the_event() {
        FaultyDataSource faulty = new FaultyDataSource(db.dataSource());
        Inbox shaky = inboxOn(faulty).build();
        faulty.failBefore(1, Call.to("getConnection"), "08001");
        assertThatThrownBy(() -> shaky.handle("billing", "e1", effect("e1"))).isInstanceOf(InboxException.class);
        faulty.failBefore(1, Call.executing("INSERT INTO outbox_inbox"), "08006");
        assertThatThrownBy(() -> shaky.handle("billing", "e1", effect("e1"))).isInstanceOf(InboxException.class);

        assertThatCode(() ->
                        assertThat(shaky.handle("billing", "e1", effect("e1"))).isTrue())
                .doesNotThrowAnyException();
        assertThat(faulty.openConnections()).isZero();
    }

    @Test
    void a_commit_that_is_cancelled_for_its_time_is_the_fault_of_its_action() {
        FaultyDataSource faulty = new FaultyDataSource(db.dataSource());
        Inbox slow = inboxOn(faulty).build();
        faulty.failBefore(1, Call.to("commit"), "57014");

        assertThatThrownBy(() -> slow.handle("billing", "e1", effect("e1")))
                .isInstanceOf(EventStoreException.class)
                .isNotInstanceOf(InboxException.class);
    }

    @Test
    void a_mark_that_lost_against_another_transaction_is_tried_again() throws SQLException {
        FaultyDataSource faulty = new FaultyDataSource(db.dataSource());
        Inbox shaky = inboxOn(faulty).build();
        faulty.failBefore(1, Call.executing("INSERT INTO outbox_inbox"), "40001");

        assertThat(shaky.handle("billing", "e1", effect("e1"))).isTrue();
    }

    @Test
    void a_mark_that_an_action_lost_does_not_run_the_action_again() throws SQLException {
        FaultyDataSource faulty = new FaultyDataSource(db.dataSource());
        Inbox shaky = inboxOn(faulty).build();
        AtomicInteger runs = new AtomicInteger();
        faulty.failBefore(2, Call.executing("INSERT INTO outbox_inbox"), "40001");

        assertThatThrownBy(() -> shaky.handle("billing", "e1", connection -> {
                    runs.incrementAndGet();
                    shaky.handle("billing", "e2", effect("e2"));
                }))
                .isInstanceOf(InboxException.class);

        assertThat(runs).hasValue(1);
    }

    @Test
    void an_inbox_without_its_table_says_so_and_works_once_it_is_there() throws SQLException {
        JdbcInbox other = inboxOn(db.dataSource()).table("other_inbox").build();
        assertThatThrownBy(() -> other.handle("billing", "e1", effect("e1")))
                .isInstanceOf(InboxException.class)
                .hasMessageContaining("other_inbox");
        assertThat(OutboxSchema.missingInbox(db.dataSource(), other)).containsExactly("table other_inbox");

        OutboxSchema.createInbox(db.dataSource(), other);
        OutboxSchema.createInbox(db.dataSource(), other);
        assertThat(OutboxSchema.missingInbox(db.dataSource(), other)).isEmpty();

        assertThat(other.handle("billing", "e1", effect("e1"))).isTrue();
    }

    @Test
    void what_a_database_would_shorten_or_confuse_is_refused() {
        for (String id : List.of("", "x".repeat(256), "e1 ", " e1", "e\n1")) {
            assertThatThrownBy(() -> inbox.handle("billing", id, effect("e1")))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("eventId");
        }
    }

    @Test
    void a_wrong_setting_is_not_the_fault_of_the_event() throws SQLException {
        assertThatThrownBy(() -> inbox.handle("x".repeat(129), "e1", effect("e1")))
                .isInstanceOf(InboxException.class)
                .hasMessageContaining("consumer");
        assertThatThrownBy(() -> inbox.checkConsumer("x".repeat(129))).isInstanceOf(IllegalArgumentException.class);
        JdbcInbox elsewhere = inboxOn(db.dataSource()).table("effect").build();
        assertThatThrownBy(() -> elsewhere.handle("billing", "e1", effect("e1")))
                .isInstanceOf(InboxException.class)
                .hasMessageContaining("handled_at");
    }

    @Test
    void ids_differ_by_case() throws SQLException {
        assertThat(inbox.handle("billing", "a", effect("a"))).isTrue();
        assertThat(inbox.handle("billing", "A", effect("A"))).isTrue();
    }

    @Test
    void the_consume_log_keeps_the_type_and_one_row_per_event() throws Exception {
        JdbcInbox log = inboxOn(db.dataSource()).layout(InboxLayout.CONSUME_LOG).build();
        OutboxSchema.createInbox(db.dataSource(), log);
        List<String> ids = ids(10);

        onAllThreads(() -> {
            for (String id : ids) {
                log.handle("inventory", id, "ORDER_CREATED", effect(id));
            }
        });

        assertEachTookEffectOnce(ids);
        assertThat(log.handle("other", ids.get(0), "ORDER_CREATED", effect(ids.get(0))))
                .isFalse();
        assertThat(number("SELECT COUNT(*) FROM event_consume_log WHERE event_type = 'ORDER_CREATED'"
                        + " AND consumer = 'inventory' AND consume_time IS NOT NULL"))
                .isEqualTo(10);
        assertThatThrownBy(() -> log.handle("inventory", "e1", effect("e1")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("type");
    }

    @Test
    void a_key_longer_than_the_columns_of_the_consume_log_takes_effect_once() throws Exception {
        JdbcInbox log = inboxOn(db.dataSource()).layout(InboxLayout.CONSUME_LOG).build();
        OutboxSchema.createInbox(db.dataSource(), log);
        IdempotentListener listener = new IdempotentListener(
                log, "inventory", event -> effect(event.payloadJson()).run(txContext.currentConnection()));
        String longest = "k".repeat(EventEnvelope.MAX_DEDUP_KEY_LENGTH - 1);

        for (String payload : List.of("e1", "e2")) {
            for (int copy = 0; copy < 2; copy++) {
                listener.onEvent(EventEnvelope.builder("ORDER_CREATED")
                        .dedupKey(longest + payload.charAt(1))
                        .payloadJson(payload)
                        .build());
            }
        }

        assertEachTookEffectOnce(List.of("e1", "e2"));
        assertThat(number("SELECT COUNT(*) FROM event_consume_log WHERE event_id LIKE 'sha256:%'"))
                .isEqualTo(2);
    }

    @Test
    void a_row_of_the_consume_log_that_collides_otherwise_does_not_pass_for_the_event() throws SQLException {
        JdbcInbox log = inboxOn(db.dataSource())
                .layout(InboxLayout.CONSUME_LOG)
                .table("old_log")
                .build();
        execute("CREATE TABLE old_log (id BIGINT DEFAULT 0 PRIMARY KEY, event_id VARCHAR(64) NOT NULL UNIQUE,"
                + " event_type VARCHAR(64) NOT NULL, consumer VARCHAR(64) NOT NULL, consume_time TIMESTAMP NOT NULL)");
        assertThat(log.handle("inventory", "e1", "ORDER_CREATED", effect("e1"))).isTrue();

        assertThatThrownBy(() -> log.handle("inventory", "e2", "ORDER_CREATED", effect("e2")))
                .isInstanceOf(InboxException.class)
                .hasMessageContaining("old_log");
        assertThat(log.handle("inventory", "e1", "ORDER_CREATED", effect("e1"))).isFalse();

        assertThat(effects("e2")).isZero();
    }

    @Test
    void a_purge_forgets_what_is_older_than_its_age_only() throws SQLException {
        JdbcInbox purged =
                inboxOn(db.dataSource()).redeliveryWindow(Duration.ofDays(14)).build();
        purged.handle("billing", "new", effect("new"));
        try (Connection connection = db.open();
                PreparedStatement insert = connection.prepareStatement("INSERT INTO outbox_inbox"
                        + " (consumer, event_id, handled_at) VALUES ('billing', ?, '2020-01-01 00:00:00')")) {
            for (int i = 0; i < 2500; i++) {
                insert.setString(1, "old-" + i);
                insert.addBatch();
            }
            insert.executeBatch();
            connection.commit();
        }

        assertThat(purged.purge(Duration.ofDays(30), () -> true)).isEqualTo(1000); // one transaction
        assertThat(purged.purge(Duration.ofDays(30))).isEqualTo(1500);

        assertThat(purged.purge(Duration.ofDays(30))).isZero();
        assertThat(purged.handle("billing", "new", effect("new"))).isFalse();
    }

    @Test
    void a_purge_that_would_let_an_event_take_effect_twice_is_refused() {
        JdbcInbox purged =
                inboxOn(db.dataSource()).redeliveryWindow(Duration.ofDays(14)).build();

        assertThatThrownBy(() -> purged.purge(Duration.ofDays(13)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("redeliveryWindow");
        assertThatThrownBy(() -> inbox.purge(Duration.ofDays(13)))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("redeliveryWindow");
    }

    // ---- helpers ----

    static Inbox.Action<SQLException> effect(String eventId) {
        return connection -> {
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO effect (event_id) VALUES (?)")) {
                insert.setString(1, eventId);
                insert.executeUpdate();
            }
        };
    }

    static List<String> ids(int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> UUID.randomUUID().toString())
                .toList();
    }

    /** Redelivers messages that the inbox could not handle, as a broker does. */
    static void untilAnswered(Callable<Boolean> handling) throws Exception {
        for (int tries = 1; ; tries++) {
            try {
                handling.call();
                return;
            } catch (InboxException e) {
                if (tries == 100) {
                    throw e;
                }
            }
        }
    }

    interface Task {
        void run() throws Exception;
    }

    static void onAllThreads(Task task) throws InterruptedException, ExecutionException {
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        CyclicBarrier start = new CyclicBarrier(THREADS);
        try {
            List<Callable<Void>> copies = Collections.nCopies(THREADS, () -> {
                start.await(30, TimeUnit.SECONDS);
                task.run();
                return null;
            });
            for (Future<Void> copy : threads.invokeAll(copies, 90, TimeUnit.SECONDS)) {
                copy.get();
            }
        } finally {
            threads.shutdownNow();
        }
    }

    void assertEachTookEffectOnce(List<String> ids) throws SQLException {
        assertThat(number("SELECT COUNT(*) FROM effect")).isEqualTo(ids.size());
        assertThat(number("SELECT COUNT(DISTINCT event_id) FROM effect")).isEqualTo(ids.size());
    }

    private long effects(String eventId) throws SQLException {
        return number("SELECT COUNT(*) FROM effect WHERE event_id = '" + eventId + "'");
    }

    private long number(String sql) throws SQLException {
        try (Connection connection = db.dataSource().getConnection();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getLong(1);
        }
    }

    private void execute(String sql) throws SQLException {
        try (Connection connection = db.dataSource().getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
