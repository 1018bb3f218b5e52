package outbox.jdbc;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.dispatch.DispatcherCommitHook;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.poller.OutboxPoller;
import outbox.testing.contract.StoreFixture;

import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * A dispatcher accepts events before it has a poller. Its leases are much longer than the leases that its poller and
 * other nodes use.
 */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("mariadb")
@Tag("mysql")
class LatePollerTest {

    private static final Duration LOCK_TIMEOUT = Duration.ofSeconds(2);

    private final List<String> delivered = new CopyOnWriteArrayList<>(); // by the dispatcher with the late poller
    private final CountDownLatch go = new CountDownLatch(1);
    private final ThreadLocalTxContext txContext = new ThreadLocalTxContext();
    private final List<AutoCloseable> open = new ArrayList<>();

    @AfterEach
    void close() throws Exception {
        go.countDown();
        for (AutoCloseable one : open) {
            one.close();
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"H2", "POSTGRES", "MARIADB", "MYSQL"})
    void leases_from_before_the_poller_are_kept_like_those_after_it(Databases database) {
        StoreFixture db = database.fixture();
        OutboxDispatcher dispatcher = dispatcher(db);
        OutboxWriter writer = new OutboxWriter(txContext, db.store(), new DispatcherCommitHook(dispatcher));
        JdbcTransactionManager transactions = new JdbcTransactionManager(db.dataSource()::getConnection, txContext);
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            writer.write("T", "{\"runs\":true}");
            writer.write("T", "{\"waits\":true}");
            tx.commit();
        }
        await().until(() -> delivered.size() == 1);

        attachPoller(db, dispatcher);
        Node other = opened(Node.withLease(db.dataSource(), db.store(), LOCK_TIMEOUT));
        other.poller.start();
        Instant over = db.now().plus(LOCK_TIMEOUT.multipliedBy(2));
        await().atMost(30, TimeUnit.SECONDS).until(() -> db.now().isAfter(over));

        assertThat(other.delivered).isEmpty();
        go.countDown();
        await().atMost(30, TimeUnit.SECONDS).until(() -> db.count("status = 1") == 2);
        assertThat(delivered).hasSize(2).doesNotHaveDuplicates();
        assertThat(other.delivered).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(names = {"H2", "POSTGRES", "MARIADB", "MYSQL"})
    void an_event_that_was_written_before_the_poller_and_committed_late_runs_once(Databases database)
            throws SQLException {
        StoreFixture db = database.fixture();
        go.countDown();
        OutboxDispatcher dispatcher = dispatcher(db);
        OutboxWriter writer = new OutboxWriter(txContext, db.store(), new DispatcherCommitHook(dispatcher));
        JdbcTransactionManager transactions = new JdbcTransactionManager(db.dataSource()::getConnection, txContext);
        Node other = opened(Node.withLease(db.dataSource(), db.store(), LOCK_TIMEOUT));
        EventEnvelope later = EventEnvelope.ofJson("T", "{}");

        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            txContext.afterCommit(
                    // the lease has expired: another node takes the event before the hook is notified
                    () -> {
                        other.poller.poll();
                        await().until(() -> other.delivered.size() == 1);
                    });
            writer.write("T", "{\"late\":true}");
            // executes an insert that is deferred until the next statement
            tx.connection().createStatement().close();
            Instant over = db.now().plus(LOCK_TIMEOUT).plusMillis(200);
            await().atMost(30, TimeUnit.SECONDS).until(() -> db.now().isAfter(over));
            attachPoller(db, dispatcher);
            tx.commit();
        }
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            writer.write(later);
            tx.commit();
        }

        // by its only worker
        await().atMost(30, TimeUnit.SECONDS).until(() -> delivered.contains(later.eventId()));
        assertThat(delivered).containsExactly(later.eventId());
        assertThat(other.delivered).hasSize(1);
    }

    /** Creates a dispatcher with one worker, which waits for the test. */
    private OutboxDispatcher dispatcher(StoreFixture db) {
        return opened(OutboxDispatcher.builder()
                .connectionProvider(db.dataSource()::getConnection)
                .eventStore(db.store())
                .workerCount(1)
                .listenerRegistry((aggregateType, eventType) -> event -> {
                    delivered.add(event.eventId());
                    OrderedNodesContract.passUninterruptibly(go);
                })
                .build());
    }

    private void attachPoller(StoreFixture db, OutboxDispatcher dispatcher) {
        opened(OutboxPoller.builder()
                .connectionProvider(db.dataSource()::getConnection)
                .eventStore(db.store())
                .handler(new DispatcherPollerHandler(dispatcher))
                .lockTimeout(LOCK_TIMEOUT)
                .build());
    }

    private <T extends AutoCloseable> T opened(T one) {
        open.add(one);
        return one;
    }
}
