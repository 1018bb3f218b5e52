package outbox.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.model.EventStatus;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.ClaimedEvent;
import outbox.testing.contract.StoreFixture;
import outbox.testing.fault.ChildJvm;
import outbox.testing.fault.FaultProxy;
import outbox.testing.fault.FaultyDataSource;
import outbox.testing.server.DatabaseServer;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/** Failures of the network or the database that only a real server shows. */
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class FaultContract {

    private final Databases database;
    private final DatabaseServer server;
    private StoreFixture db;
    private FaultProxy proxy;
    private HikariDataSource proxied;

    FaultContract(Databases database, DatabaseServer server) {
        this.database = database;
        this.server = server;
    }

    @BeforeEach
    void createDatabase() {
        db = database.fixture();
        proxy = FaultProxy.to(server);
        proxied = Databases.newPool(proxy.through(withCommitsAsText(urlOf(db))), 5, true);
    }

    @AfterEach
    void closeProxy() {
        proxy.close();
        proxied.close();
    }

    @Test
    void a_commit_whose_answer_is_lost_is_neither_a_commit_nor_a_rollback_and_the_row_decides() {
        List<String> callbacks = new ArrayList<>();
        try (Node node = Node.withLease(proxied, db.store(), Duration.ofSeconds(1))) {
            EventEnvelope event = EventEnvelope.ofJson("T", "{}");

            try (JdbcTransactionManager.Transaction tx = node.transactions.begin()) {
                node.writer.write(event);
                node.txContext.afterCommit(() -> callbacks.add("commit"));
                node.txContext.afterRollback(() -> callbacks.add("rollback"));
                node.txContext.whenUnknown(() -> callbacks.add("unknown"));
                proxy.swallowReplyAfter("COMMIT");
                assertThatThrownBy(tx::commit).isInstanceOf(CommitOutcomeUnknownException.class);
            }

            assertThat(callbacks).containsExactly("unknown");
            assertThat(node.delivered).isEmpty();
            proxy.heal();
            node.poller.start();
            await().atMost(30, TimeUnit.SECONDS).until(() -> db.count("status = 1") == 1);
            assertThat(node.deliveredIds()).containsExactly(event.eventId());
        }
    }

    @Test
    void a_commit_that_never_reached_the_server_leaves_nothing() {
        try (Node node = Node.withLease(proxied, db.store(), Duration.ofSeconds(1))) {
            try (JdbcTransactionManager.Transaction tx = node.transactions.begin()) {
                node.writer.write("T", "{}");
                proxy.cutBefore("COMMIT");
                assertThatThrownBy(tx::commit).isInstanceOf(CommitOutcomeUnknownException.class);
            }
            proxy.heal();

            await().until(() -> db.count("1 = 1") == 0);
            node.poller.poll();
            assertThat(node.delivered).isEmpty();
        }
    }

    @Test
    void a_mark_whose_answer_is_lost_does_not_repeat_the_delivery() {
        try (Node node = new Node(proxied, db.store())) {
            EventEnvelope warmUp = node.write("{}");
            await().until(() -> db.count("status = 1") == 1);
            node.listener = event -> proxy.swallowReplyAfter("COMMIT"); // takes effect at the commit of the mark

            EventEnvelope event = node.write("{}");

            await().atMost(30, TimeUnit.SECONDS).until(() -> db.count("status = 1 AND attempts = 0") == 2);
            node.poller.poll();
            assertThat(node.deliveredIds()).containsExactly(warmUp.eventId(), event.eventId());
        }
    }

    @Test
    void a_hundred_lost_connections_lose_no_event_and_leak_no_thread() {
        try (Node node = Node.withLease(proxied, db.store(), Duration.ofSeconds(2))) {
            node.poller.start();
            node.write("{}");
            int threads = Thread.activeCount();
            int committed = 1;

            for (int i = 0; i < 100; i++) {
                proxy.cutAll();
                try {
                    node.write("{}");
                    committed++;
                } catch (RuntimeException e) {
                    assertThat(e).isInstanceOfAny(EventStoreException.class, CommitOutcomeUnknownException.class);
                }
            }

            int sure = committed;
            await().atMost(60, TimeUnit.SECONDS)
                    .until(() -> db.count("status = 1") >= sure && db.count("status <> 1") == 0);
            await().atMost(30, TimeUnit.SECONDS).until(() -> Thread.activeCount() <= threads + 10);
            assertThat(proxy.connections()).isLessThanOrEqualTo(5);
            assertThat(db.count("status = 3")).isZero();
        }
    }

    @Test
    void a_server_that_stops_answering_does_not_hold_the_poller_for_ever() {
        try (Node node = new Node(proxied, db.store())) {
            node.poller.poll();
            EventEnvelope event = node.writeCold("{}");
            proxy.blackhole(FaultProxy.Direction.TO_CLIENT);

            node.poller.poll(); // returns after its network timeout
            proxy.heal();
            proxy.cutAll();

            await().atMost(60, TimeUnit.SECONDS).until(() -> {
                node.poller.poll();
                return node.deliveredIds().contains(event.eventId());
            });
        }
    }

    @Test
    void outcomes_that_the_network_swallowed_are_written_on_another_connection_within_seconds() {
        // otherwise the pool waits 5 s for each dead connection
        proxied.getHikariConfigMXBean().setValidationTimeout(500);
        try (Node node = new Node(proxied, db.store())) {
            node.write("{}");
            await().until(() -> db.count("status = 1") == 1);
            node.listener = event -> proxy.swallow(FaultProxy.Direction.TO_SERVER);
            EventEnvelope event = node.write("{}");
            await().atMost(7, TimeUnit.SECONDS).until(() -> node.counts.markFailures.get() > 0);

            proxy.heal();

            // the pool may be opening another connection whose bytes were lost
            await().atMost(40, TimeUnit.SECONDS).until(() -> db.count("status = 1 AND attempts = 0") == 2);
            assertThat(node.deliveredIds()).hasSize(2).contains(event.eventId());
        }
    }

    @Test
    void outcomes_whose_answers_the_network_swallowed_are_known_within_seconds() {
        // otherwise the pool waits 5 s for each dead connection
        proxied.getHikariConfigMXBean().setValidationTimeout(500);
        try (Node node = new Node(proxied, db.store())) {
            node.write("{}");
            await().until(() -> db.count("status = 1") == 1);
            node.listener = event -> proxy.swallow(FaultProxy.Direction.TO_CLIENT);
            EventEnvelope event = node.write("{}");
            await().atMost(7, TimeUnit.SECONDS).until(() -> node.counts.markFailures.get() > 0);

            proxy.heal();

            await().atMost(40, TimeUnit.SECONDS).until(() -> node.counts.success.get() == 2);
            assertThat(db.count("status = 1 AND attempts = 0")).isEqualTo(2);
            assertThat(node.deliveredIds()).hasSize(2).contains(event.eventId());
        }
    }

    @Test
    void a_claim_that_the_network_swallowed_does_not_hold_the_poller_longer_than_seconds() {
        try (Node node = new Node(proxied, db.store())) {
            node.poller.poll();
            EventEnvelope event = node.writeCold("{}");
            proxy.swallow(FaultProxy.Direction.TO_SERVER);
            long start = System.nanoTime();

            node.poller.poll();

            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(12));
            proxy.heal();
            await().atMost(10, TimeUnit.SECONDS).until(() -> {
                node.poller.poll();
                return db.row(event.eventId()).status() == EventStatus.DONE;
            });
            assertThat(db.row(event.eventId()).attempts()).isZero();
        }
    }

    @Test
    void a_claim_that_is_not_committed_yet_does_not_hide_other_events() throws SQLException {
        db.insert(IntStream.range(0, 30)
                .mapToObj(i -> EventEnvelope.ofJson("T", "{}"))
                .toList());
        try (Connection held = db.open()) {
            db.store().prepare(held);
            List<ClaimedEvent> first = claim(held, "first");

            List<ClaimedEvent> second = db.call(connection -> claim(connection, "second"));

            assertThat(first).hasSize(10);
            assertThat(second).hasSize(10);
            held.rollback();
        }
    }

    /** Some databases accept the clause but take no lock. Then the UPDATE alone must decide. */
    @Test
    void claims_stay_exclusive_where_the_lock_clause_does_nothing() throws Exception {
        db.insert(IntStream.range(0, 1000)
                .mapToObj(i -> EventEnvelope.ofJson("T", "{}"))
                .toList());
        FaultyDataSource unlocked = new FaultyDataSource(db.dataSource());
        AtomicInteger stripped = new AtomicInteger();
        unlocked.rewriteSql(sql -> {
            String without = sql.replaceAll("FOR UPDATE( OF e)? SKIP LOCKED", "");
            stripped.addAndGet(without.equals(sql) ? 0 : 1);
            return without;
        });
        StoreFixture lockless = new StoreFixture(unlocked, database.store(), db.table(), db.zonedTimes());
        List<String> claimed = new CopyOnWriteArrayList<>();
        List<Thread> claimers = new ArrayList<>();
        for (int t = 0; t < 4; t++) {
            String name = "claimer-" + t;
            Thread claimer = new Thread(() -> {
                for (int round = 0; round < 200 && claimed.size() < 1000; round++) {
                    String token = name + "/" + round;
                    try {
                        List<ClaimedEvent> some = lockless.call(connection -> claim(connection, token));
                        some.forEach(event -> claimed.add(event.event().eventId()));
                    } catch (RuntimeException e) {
                        // a deadlock, after which the engine would retry
                        assertThat(e).hasStackTraceContaining("SQL");
                    }
                }
            });
            claimers.add(claimer);
            claimer.start();
        }
        for (Thread claimer : claimers) {
            claimer.join(60_000);
        }

        assertThat(stripped).hasPositiveValue();
        assertThat(claimed).doesNotHaveDuplicates().hasSize(1000);
    }

    private List<ClaimedEvent> claim(Connection connection, String token) {
        var now = db.store().now(connection);
        return db.store()
                .claim(connection, new Claim(token, Long.MAX_VALUE), ClaimRequest.of(now, now.minusSeconds(60), 10));
    }

    @Test
    @Tag("process")
    void payloads_many_times_larger_than_the_heap_are_delivered_by_a_small_process() {
        String large = "\"" + "x".repeat(1_000_000) + "\"";
        for (int i = 0; i < 30; i++) {
            db.insert(IntStream.range(0, 10)
                    .mapToObj(n -> EventEnvelope.ofJson("T", large))
                    .toList());
        }

        try (ChildJvm child = ChildJvm.of(SmallHeapNode.class)
                .jvmOptions("-Xmx128m", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError")
                .arguments(urlOf(db), database.name(), "300")
                .start()) {
            child.awaitLine("DELIVERED 300", Duration.ofSeconds(90));
        }
        await().until(() -> db.count("status = 1") == 300);
    }

    /**
     * Otherwise the PostgreSQL driver sends the text only once per connection, and the proxy searches for that text.
     */
    private static String withCommitsAsText(String url) {
        return url.startsWith("jdbc:postgresql:") ? url + (url.contains("?") ? "&" : "?") + "prepareThreshold=0" : url;
    }

    private static String urlOf(StoreFixture db) {
        return ((HikariDataSource) db.dataSource()).getJdbcUrl();
    }
}
