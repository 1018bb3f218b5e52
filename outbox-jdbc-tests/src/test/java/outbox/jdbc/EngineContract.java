package outbox.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.InvalidEventException;
import outbox.TransactionStateException;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.QueuedEvent;
import outbox.model.EventStatus;
import outbox.poller.OutboxPoller;
import outbox.spi.Claim;
import outbox.spi.MetricsExporter;
import outbox.testing.contract.StoreFixture;
import outbox.testing.contract.StoreFixture.Row;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/** Contract tests for writer, dispatcher and poller together, on a real database. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class EngineContract {

    private static final Row DONE = new Row(EventStatus.DONE, 0, null, null);

    private final Databases database;
    private final Supplier<StoreFixture> fixtures;
    private final List<Node> nodes = new ArrayList<>();
    private StoreFixture db;

    EngineContract(Databases database) {
        this(database, database::fixture);
    }

    EngineContract(Databases database, Supplier<StoreFixture> fixtures) {
        this.database = database;
        this.fixtures = fixtures;
    }

    @BeforeEach
    void createDatabase() {
        db = fixtures.get();
    }

    @AfterEach
    void closeNodes() {
        nodes.forEach(Node::close);
    }

    // ---- the path of an event ----

    @Test
    void a_committed_event_is_delivered_at_once_without_a_poller() {
        Node node = started(new Node(db.dataSource(), db.store()));

        EventEnvelope event = node.write("{}");

        awaitRow(event, DONE);
        assertThat(node.delivered).containsExactly(event);
    }

    @Test
    void an_event_without_the_hot_path_is_delivered_by_the_poller() {
        Node node = started(new Node(db.dataSource(), db.store()));
        EventEnvelope event = node.writeCold("{}");

        node.poller.poll();

        awaitRow(event, DONE);
        assertThat(node.delivered).containsExactly(event);
    }

    @Test
    void an_event_is_the_same_on_the_hot_the_cold_the_retry_and_the_take_over_path() throws Exception {
        EventEnvelope template = EventEnvelope.builder("T")
                .aggregateType("Order")
                .aggregateId("7")
                .tenantId("t")
                .header("trace", "x\ny")
                .payloadJson("{ \"b\" : 1, \"a\" : 1.10, \"a\" : \"\\u0000 ✓\" }")
                .build();
        Node node = started(new Node(db.dataSource(), db.store()));
        CountDownLatch twice = new CountDownLatch(2);
        node.listener = event -> {
            twice.countDown();
            if (twice.getCount() > 0) {
                throw new IllegalStateException("the first time fails");
            }
        };

        node.write(node.writer, template);
        awaitRow(
                template, new Row(EventStatus.RETRY, 1, "java.lang.IllegalStateException: the first time fails", null));
        node.poller.poll();

        await().until(() -> db.row(template.eventId()).status() == EventStatus.DONE);
        assertThat(node.delivered).containsExactly(template, template);
        assertThat(node.delivered.get(1).payloadJson()).isEqualTo(template.payloadJson());
    }

    @Test
    void a_rolled_back_event_is_never_delivered() {
        Node node = started(new Node(db.dataSource(), db.store()));

        try (JdbcTransactionManager.Transaction tx = node.transactions.begin()) {
            node.writer.write("T", "{\"rolled\":\"back\"}");
            tx.rollback();
        }
        try (JdbcTransactionManager.Transaction tx = node.transactions.begin()) {
            node.writer.write("T", "{\"never\":\"committed\"}");
            assertThat(tx.connection()).isNotNull();
        }
        EventEnvelope committed = node.write("{}");

        awaitRow(committed, DONE);
        node.poller.poll();
        assertThat(node.delivered).containsExactly(committed);
        assertThat(db.count("1 = 1")).isEqualTo(1);
    }

    @Test
    void an_event_of_a_rolled_back_savepoint_is_never_delivered() throws SQLException {
        Node node = started(new Node(db.dataSource(), db.store()));
        EventEnvelope before = EventEnvelope.ofJson("T", "{\"n\":1}");
        EventEnvelope inside = EventEnvelope.ofJson("T", "{\"n\":2}");
        EventEnvelope after = EventEnvelope.ofJson("T", "{\"n\":3}");

        try (JdbcTransactionManager.Transaction tx = node.transactions.begin()) {
            node.writer.write(before);
            Savepoint outer = tx.connection().setSavepoint();
            Savepoint inner = tx.connection().setSavepoint("inner");
            node.writer.write(inside);
            tx.connection().rollback(inner);
            tx.connection().rollback(outer);
            node.writer.write(after);
            tx.commit();
        }

        awaitRow(before, DONE);
        awaitRow(after, DONE);
        assertThat(node.delivered).containsExactlyInAnyOrder(before, after);
        assertThat(db.count("1 = 1")).isEqualTo(2);
    }

    @Test
    void a_transaction_inside_another_has_its_own_fate() {
        Node node = started(new Node(db.dataSource(), db.store()));
        EventEnvelope outer = EventEnvelope.ofJson("T", "{\"n\":\"outer\"}");
        EventEnvelope inner = EventEnvelope.ofJson("T", "{\"n\":\"inner\"}");

        try (JdbcTransactionManager.Transaction suspended = node.transactions.begin()) {
            node.writer.write(outer);
            try (JdbcTransactionManager.Transaction independent = node.transactions.begin()) {
                node.writer.write(inner);
                assertThatThrownBy(suspended::commit).isInstanceOf(TransactionStateException.class);
                independent.commit();
            }
            suspended.rollback();
        }

        awaitRow(inner, DONE);
        assertThat(node.delivered).containsExactly(inner);
        assertThat(db.count("1 = 1")).isEqualTo(1);
    }

    @Test
    void a_handler_that_is_a_lambda_takes_the_claim_along() {
        Node node = started(new Node(db.dataSource(), db.store()));
        OutboxPoller lambda = OutboxPoller.builder()
                .connectionProvider(db.dataSource()::getConnection)
                .eventStore(db.store())
                .handler((event, attempts) ->
                        node.dispatcher.enqueueCold(new QueuedEvent(event, QueuedEvent.Source.COLD, attempts)))
                .build();
        EventEnvelope event = node.writeCold("{}");

        lambda.poll();

        awaitRow(event, DONE);
        assertThat(node.delivered).containsExactly(event);
        assertThat(node.counts.lostClaims).hasValue(0);
    }

    @Test
    void a_handler_may_hand_over_later_and_from_another_thread() {
        Node node = started(new Node(db.dataSource(), db.store()));
        List<QueuedEvent> later = new ArrayList<>();
        OutboxPoller lambda = OutboxPoller.builder()
                .connectionProvider(db.dataSource()::getConnection)
                .eventStore(db.store())
                .handler((event, attempts) -> later.add(new QueuedEvent(event, QueuedEvent.Source.COLD, attempts)))
                .build();
        EventEnvelope event = node.writeCold("{}");

        lambda.poll();
        later.forEach(node.dispatcher::enqueueCold);

        awaitRow(event, DONE);
        assertThat(node.delivered).containsExactly(event);
        assertThat(node.counts.lostClaims).hasValue(0);
    }

    // ---- rejected calls ----

    @Test
    void a_write_without_a_transaction_is_refused_before_any_sql() {
        Node node = started(new Node(db.dataSource(), db.store()));

        assertThatThrownBy(() -> node.writer.write("T", "{}"))
                .isInstanceOf(TransactionStateException.class)
                .hasMessageContaining("No transaction");
    }

    @Test
    void a_write_in_a_read_only_transaction_is_refused_before_any_sql() throws SQLException {
        Node node = started(new Node(db.dataSource(), db.store()));

        try (JdbcTransactionManager.Transaction tx = node.transactions.begin()) {
            tx.connection().setReadOnly(true);
            if (tx.connection().isReadOnly()) { // H2 ignores the hint and allows the write
                assertThatThrownBy(() -> node.writer.write("T", "{}"))
                        .isInstanceOf(TransactionStateException.class)
                        .hasMessageContaining("read-only");
            }
            tx.connection().setReadOnly(false);
            tx.commit();
        }

        assertThat(db.count("1 = 1")).isZero();
    }

    @Test
    void a_write_from_an_after_commit_callback_is_refused() {
        Node node = started(new Node(db.dataSource(), db.store()));
        AtomicBoolean refused = new AtomicBoolean();

        try (JdbcTransactionManager.Transaction tx = node.transactions.begin()) {
            node.txContext.afterCommit(() -> {
                assertThatThrownBy(() -> node.writer.write("T", "{}")).isInstanceOf(TransactionStateException.class);
                refused.set(true);
            });
            tx.commit();
        }

        assertThat(refused).isTrue();
    }

    @Test
    void bad_input_is_refused_and_the_transaction_can_still_commit() {
        Node node = started(new Node(db.dataSource(), db.store()));
        String tooLarge = "x".repeat(EventEnvelope.MAX_PAYLOAD_BYTES + 1);
        EventEnvelope good = EventEnvelope.ofJson("T", "{}");

        try (JdbcTransactionManager.Transaction tx = node.transactions.begin()) {
            for (String payload : List.of(tooLarge, "nul \u0000", "lone \ud800 surrogate")) {
                assertThatThrownBy(() -> node.writer.write("T", payload)).isInstanceOf(InvalidEventException.class);
            }
            assertThatThrownBy(() -> node.writer.writeAll(List.of(good, good)))
                    .isInstanceOf(InvalidEventException.class);
            node.writer.write(good);
            assertThatThrownBy(() -> node.writer.write(good)).isInstanceOf(DuplicateEventException.class);
            tx.commit();
        }

        awaitRow(good, DONE);
        assertThat(node.delivered).containsExactly(good);
    }

    // ---- failures of listeners ----

    @Test
    void a_failing_event_is_tried_again_and_then_dead_with_its_reason() {
        Node node = started(new Node(db.dataSource(), db.store(), d -> d.maxAttempts(3), p -> {}));
        node.listener = event -> {
            throw new IllegalStateException("no \u0000 luck");
        };
        EventEnvelope event = node.write("{}");

        for (int attempt = 1; attempt <= 2; attempt++) {
            int failed = attempt;
            await().until(() -> db.row(event.eventId()).attempts() == failed);
            node.poller.poll();
        }

        awaitRow(event, new Row(EventStatus.DEAD, 3, "java.lang.IllegalStateException: no ? luck", null));
        node.poller.poll();
        assertThat(node.delivered).hasSize(3);
        assertThat(node.counts.dead).hasValue(1);
        assertThat(node.counts.failure).hasValue(2);
    }

    @Test
    void an_event_that_occurred_in_the_future_is_retried_like_any_other() {
        Node node = started(new Node(db.dataSource(), db.store()));
        AtomicInteger runs = new AtomicInteger();
        node.listener = event -> {
            if (runs.incrementAndGet() == 1) {
                throw new IllegalStateException("once");
            }
        };
        EventEnvelope event = EventEnvelope.builder("T")
                .occurredAt(db.now().plus(Duration.ofHours(1)))
                .payloadJson("{}")
                .build();

        node.write(node.writer, event);
        await().until(() -> db.row(event.eventId()).status() == EventStatus.RETRY);
        node.poller.poll();

        await().until(() -> db.row(event.eventId()).status() == EventStatus.DONE);
        assertThat(node.delivered.get(1).occurredAt()).isEqualTo(event.occurredAt());
    }

    @Test
    void an_event_that_cannot_be_decoded_is_dead_and_the_others_go_on() {
        Node node = started(new Node(db.dataSource(), db.store()));
        EventEnvelope broken = node.writeCold("{}");
        EventEnvelope good = node.writeCold("{}");
        db.inTransaction(connection -> {
            try (var update =
                    connection.prepareStatement("UPDATE outbox_event SET headers = '{oops' WHERE event_id = ?")) {
                update.setString(1, broken.eventId());
                update.executeUpdate();
            }
        });

        node.poller.poll();

        awaitRow(good, DONE);
        assertThat(db.row(broken.eventId()).status()).isEqualTo(EventStatus.DEAD);
        assertThat(db.row(broken.eventId()).lastError())
                .startsWith("Cannot be decoded")
                .contains("Malformed JSON");
        assertThat(db.row(broken.eventId()).lockedBy()).isNull();
    }

    @Test
    void a_transaction_that_a_listener_left_open_does_not_reach_the_next_event() {
        ThreadLocalTxContext leaking = new ThreadLocalTxContext();
        JdbcTransactionManager transactions = new JdbcTransactionManager(db.dataSource()::getConnection, leaking);
        Node node = started(
                new Node(db.dataSource(), db.store(), d -> d.workerCount(1).interceptor(leaking.leakGuard()), p -> {}));
        List<Boolean> insideAnother = new CopyOnWriteArrayList<>();
        node.listener = event -> {
            insideAnother.add(leaking.isTransactionActive());
            transactions.begin();
        };

        EventEnvelope first = node.write("{}");
        EventEnvelope second = node.write("{}");

        awaitRow(first, DONE);
        awaitRow(second, DONE);
        assertThat(insideAnother).containsExactly(false, false);
        await().until(() ->
                ((HikariDataSource) db.dataSource()).getHikariPoolMXBean().getActiveConnections() == 0);
    }

    @Test
    void a_retry_policy_may_answer_anything() {
        AtomicInteger asked = new AtomicInteger();
        Node node = started(new Node(
                db.dataSource(),
                db.store(),
                d -> d.maxAttempts(4).retryPolicy(attempts -> switch (asked.getAndIncrement()) {
                    case 0 -> -5;
                    case 1 -> Long.MAX_VALUE;
                    default -> throw new NoClassDefFoundError("a policy that fails");
                }),
                p -> {}));
        node.listener = event -> {
            throw new IllegalStateException("fails");
        };
        EventEnvelope event = node.write("{}");

        for (int attempt = 1; attempt <= 3; attempt++) {
            int failed = attempt;
            await().until(() -> db.row(event.eventId()).attempts() == failed);
            db.makeDue(event.eventId(), db.now().minusSeconds(1));
            node.poller.poll();
        }

        await().until(() -> db.row(event.eventId()).status() == EventStatus.DEAD);
        assertThat(node.delivered).hasSize(4);
    }

    // ---- queues and capacity ----

    @Test
    void a_full_hot_queue_never_blocks_the_committer_and_leaves_events_free_at_once() {
        Node node = started(
                new Node(db.dataSource(), db.store(), d -> d.workerCount(0).hotQueueCapacity(1), p -> {}));

        List<EventEnvelope> events =
                IntStream.range(0, 300).mapToObj(i -> node.write("{}")).toList();

        await().untilAsserted(() -> assertThat(db.count("locked_by IS NULL")).isEqualTo(299));
        assertThat(node.counts.hotDropped).hasValue(299);
        Node other = started(new Node(db.dataSource(), db.store()));
        other.poller.start();
        await().until(() -> other.delivered.size() == 299);
        assertThat(other.deliveredIds()).doesNotContain(events.get(0).eventId()).doesNotHaveDuplicates();
    }

    @Test
    void an_event_that_waits_in_a_queue_is_not_delivered_twice_however_often_it_is_polled() throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        Node node = started(new Node(db.dataSource(), db.store(), d -> d.workerCount(1), p -> {}));
        node.listener = event -> go.await(30, TimeUnit.SECONDS);
        OutboxPoller reading = new OutboxPoller(
                db.dataSource()::getConnection,
                db.store(),
                new DispatcherPollerHandler(node.dispatcher),
                Duration.ZERO,
                50,
                1000,
                MetricsExporter.NOOP);
        List<EventEnvelope> events =
                List.of(node.write("{}"), node.write("{}"), node.writeCold("{}"), node.writeCold("{}"));

        for (int i = 0; i < 20; i++) {
            node.poller.poll();
            reading.poll(); // this poller makes no claims
        }
        go.countDown();
        await().until(() -> db.count("status = 1") == events.size());
        reading.poll();

        await().until(() -> db.count("locked_by IS NOT NULL") == 0);
        assertThat(node.deliveredIds())
                .containsExactlyInAnyOrderElementsOf(
                        events.stream().map(EventEnvelope::eventId).toList());
    }

    @Test
    void a_poller_claims_no_more_than_there_is_room_for() {
        Node node = started(new Node(
                db.dataSource(), db.store(), d -> d.workerCount(0).coldQueueCapacity(10), p -> p.batchSize(50)));
        db.insert(IntStream.range(0, 50)
                .mapToObj(i -> EventEnvelope.ofJson("T", "{}"))
                .toList());

        node.poller.poll();
        node.poller.poll();

        assertThat(db.count("locked_by IS NOT NULL")).isEqualTo(10);
    }

    @Test
    void a_poller_claims_large_events_by_their_size() {
        Node node = started(new Node(
                db.dataSource(), db.store(), d -> d.workerCount(0).maxQueuedBytes(4 << 20), p -> p.batchSize(50)));
        String large = "\"" + "x".repeat(1_000_000) + "\"";
        db.insert(IntStream.range(0, 12)
                .mapToObj(i -> EventEnvelope.ofJson("T", large))
                .toList());

        node.poller.poll();
        node.poller.poll();

        assertThat(db.count("locked_by IS NOT NULL")).isBetween(3L, 5L);
    }

    @Test
    void closing_gives_back_what_has_not_started() {
        CountDownLatch never = new CountDownLatch(1);
        Node node = new Node(db.dataSource(), db.store(), d -> d.workerCount(1).drainTimeoutMs(100), p -> {});
        node.listener = event -> never.await(60, TimeUnit.SECONDS);
        for (int i = 0; i < 20; i++) {
            node.write("{}");
        }
        await().until(() -> node.delivered.size() == 1);

        node.close();

        assertThat(db.count("locked_by IS NOT NULL")).isZero();
        assertThat(db.count("status = 0 AND attempts = 0")).isEqualTo(20);
        Node other = started(new Node(db.dataSource(), db.store()));
        other.poller.poll();
        await().until(() -> db.count("status = 1") == 20);
    }

    // ---- the database fails ----

    @Test
    void an_outcome_that_cannot_be_written_is_written_later_and_costs_no_attempt() throws Exception {
        CountDownLatch running = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        Node node = started(new Node(db.dataSource(), db.store()));
        node.listener = event -> {
            running.countDown();
            go.await(30, TimeUnit.SECONDS);
        };
        EventEnvelope event = node.write("{}");
        assertThat(running.await(30, TimeUnit.SECONDS)).isTrue();

        node.down = true;
        go.countDown();
        await().untilAsserted(() -> assertThat(node.counts.markFailures).hasValueGreaterThan(2));
        assertThat(db.row(event.eventId()).status()).isEqualTo(EventStatus.NEW);
        node.down = false;

        awaitRow(event, DONE);
        assertThat(node.delivered).hasSize(1);
    }

    @Test
    void a_poller_survives_a_database_that_is_down() {
        Node node = started(new Node(db.dataSource(), db.store()));
        EventEnvelope event = node.writeCold("{}");
        node.down = true;
        node.poller.poll();

        node.down = false;
        node.poller.poll();

        awaitRow(event, DONE);
    }

    // ---- leases ----

    @Test
    void a_listener_that_runs_longer_than_the_lease_keeps_it() throws Exception {
        Duration lease = Duration.ofMillis(1500);
        CountDownLatch go = new CountDownLatch(1);
        Node node = started(Node.withLease(db.dataSource(), db.store(), lease));
        Node other = started(Node.withLease(db.dataSource(), db.store(), lease));
        node.listener = event -> go.await(30, TimeUnit.SECONDS);
        EventEnvelope event = node.write("{}");
        await().until(() -> node.delivered.size() == 1);
        Instant until = db.now().plus(lease.multipliedBy(2));

        other.poller.start();
        await().atMost(30, TimeUnit.SECONDS).until(() -> db.now().isAfter(until));
        go.countDown();

        awaitRow(event, DONE);
        assertThat(other.delivered).isEmpty();
        assertThat(node.delivered).hasSize(1);
    }

    @Test
    void a_node_that_lost_its_lease_is_interrupted_and_cannot_overwrite_the_new_owner() throws Exception {
        Duration lease = Duration.ofMillis(500);
        CountDownLatch interrupted = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        Node frozen = started(Node.withLease(db.dataSource(), db.store(), lease));
        Node other = started(Node.withLease(db.dataSource(), db.store(), lease));
        frozen.listener = event -> {
            try {
                go.await(30, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                interrupted.countDown();
                throw e;
            }
        };
        EventEnvelope event = frozen.write("{}");
        await().until(() -> frozen.delivered.size() == 1);

        frozen.down = true; // it can no longer renew its leases
        assertThat(interrupted.await(30, TimeUnit.SECONDS)).isTrue();
        await().until(() -> {
            other.poller.poll();
            return other.delivered.size() == 1;
        });
        await().until(() -> db.row(event.eventId()).status() == EventStatus.DONE);
        frozen.down = false;

        await().untilAsserted(() -> assertThat(frozen.counts.lostClaims).hasValueGreaterThan(0));
        // when this event is done, all earlier writes of the node are done too
        EventEnvelope next = frozen.writeCold("{}");
        frozen.listener = e -> {};
        await().atMost(30, TimeUnit.SECONDS).until(() -> {
            frozen.poller.poll(); // repeated, because the leases are short
            return db.row(next.eventId()).status() == EventStatus.DONE;
        });
        assertThat(db.row(event.eventId()))
                // the recorded run of the other node
                .isEqualTo(new Row(EventStatus.DONE, 1, null, null));
    }

    @Test
    void a_run_that_may_have_ended_with_its_process_is_counted_before_the_next_one() {
        Node node = started(Node.withLease(db.dataSource(), db.store(), Duration.ofMinutes(5)));
        EventEnvelope suspect = EventEnvelope.ofJson("T", "{}");
        EventEnvelope exhausted = EventEnvelope.ofJson("T", "{}");
        Claim dead = new Claim("a-node-that-died/1", 0);
        db.inTransaction(connection -> db.store().insertAll(connection, List.of(suspect, exhausted), dead));
        db.inTransaction(connection -> {
            try (var update = connection.prepareStatement(
                    "UPDATE outbox_event SET attempts = CASE WHEN event_id = ? THEN 10 ELSE 3 END, locked_at = ?")) {
                update.setString(1, exhausted.eventId());
                var longAgo = db.now().minus(Duration.ofHours(1)).atOffset(ZoneOffset.UTC);
                update.setObject(2, db.zonedTimes() ? longAgo : longAgo.toLocalDateTime());
                update.executeUpdate();
            }
        });
        node.listener = event -> {
            assertThat(db.row(event.eventId()).attempts()).isEqualTo(4); // the attempt is recorded before the run
            throw new IllegalStateException("fails");
        };

        node.poller.poll();

        awaitRow(suspect, new Row(EventStatus.RETRY, 4, "java.lang.IllegalStateException: fails", null));
        await().until(() -> db.row(exhausted.eventId()).status() == EventStatus.DEAD);
        assertThat(db.row(exhausted.eventId()).lastError()).contains("10 recorded runs");
        assertThat(node.deliveredIds()).containsExactly(suspect.eventId());
    }

    @Test
    void leases_are_kept_while_a_close_drains_longer_than_they_last() throws Exception {
        Duration lease = Duration.ofMillis(1500);
        Node closing = new Node(
                db.dataSource(), db.store(), d -> d.workerCount(1).drainTimeoutMs(20_000), p -> p.lockTimeout(lease));
        Node other = started(Node.withLease(db.dataSource(), db.store(), lease));
        CountDownLatch go = new CountDownLatch(1);
        closing.listener = event -> go.await(30, TimeUnit.SECONDS);
        EventEnvelope running = closing.write("{}");
        EventEnvelope waiting = closing.write("{}");
        await().until(() -> closing.delivered.size() == 1);
        Thread close = new Thread(closing::close);

        close.start();
        other.poller.start();
        Instant until = db.now().plus(lease.multipliedBy(2));
        await().atMost(30, TimeUnit.SECONDS).until(() -> db.now().isAfter(until));
        go.countDown();
        close.join(30_000);

        awaitRow(running, DONE);
        awaitRow(waiting, DONE);
        assertThat(other.delivered).isEmpty();
    }

    @Test
    void a_restarted_node_of_the_same_name_neither_adopts_nor_overwrites_its_former_life() {
        Node former = new Node(
                db.dataSource(), db.store(), d -> d.ownerId("node-1").workerCount(0), p -> p.ownerId("node-1"));
        EventEnvelope event = former.write("{}");
        String token = db.row(event.eventId()).lockedBy();

        Node restarted =
                started(new Node(db.dataSource(), db.store(), d -> d.ownerId("node-1"), p -> p.ownerId("node-1")));
        restarted.poller.poll();

        assertThat(token).startsWith("node-1/");
        assertThat(db.row(event.eventId()).lockedBy()).isEqualTo(token);
        assertThat(restarted.delivered).isEmpty();
        former.close(); // releases the event
        restarted.poller.poll();
        awaitRow(event, DONE);
    }

    @Test
    void a_node_that_cannot_renew_its_leases_claims_nothing_more() throws Exception {
        Duration lease = Duration.ofSeconds(1);
        Node node = started(Node.withLease(db.dataSource(), db.store(), lease));
        CountDownLatch go = new CountDownLatch(1);
        // the node keeps the event even when the listener is interrupted
        node.listener = event -> OrderedNodesContract.passUninterruptibly(go);
        node.write("{}");
        await().until(() -> node.delivered.size() == 1);

        node.down = true;

        await().atMost(30, TimeUnit.SECONDS).until(() -> !node.dispatcher.hasColdQueueCapacity());
        node.down = false;
        await().atMost(30, TimeUnit.SECONDS).until(node.dispatcher::hasColdQueueCapacity);
        go.countDown();
    }

    @Test
    void a_claim_of_our_own_poller_outlives_the_older_claim_of_the_hot_path() throws Exception {
        Duration lease = Duration.ofSeconds(1);
        Node node = started(Node.withLease(db.dataSource(), db.store(), lease));
        CountDownLatch go = new CountDownLatch(1);
        node.listener = event -> go.await(30, TimeUnit.SECONDS);
        EventEnvelope event = EventEnvelope.ofJson("T", "{}");
        AtomicBoolean polled = new AtomicBoolean();

        try (JdbcTransactionManager.Transaction tx = node.transactions.begin()) {
            node.txContext.afterCommit(
                    () -> { // runs before the hook is notified of the commit
                        Instant expired = db.now().plus(lease).plusMillis(100);
                        await().atMost(30, TimeUnit.SECONDS)
                                .until(() -> db.now().isAfter(expired));
                        node.poller.poll();
                        await().until(() -> node.delivered.size() == 1);
                        polled.set(true);
                    });
            node.writer.write(event);
            tx.commit();
        }
        assertThat(polled).isTrue();
        go.countDown();

        await().until(() -> db.row(event.eventId()).status() == EventStatus.DONE);
        assertThat(node.delivered).hasSize(1);
        assertThat(node.counts.lostClaims).hasValue(0);
    }

    @Test
    void a_transaction_that_commits_after_the_close_leaves_its_event_free() {
        Node node = new Node(db.dataSource(), db.store());
        EventEnvelope event = EventEnvelope.ofJson("T", "{}");
        try (JdbcTransactionManager.Transaction tx = node.transactions.begin()) {
            node.writer.write(event);
            node.close();
            tx.commit();
        }

        awaitRow(event, new Row(EventStatus.NEW, 0, null, null));
    }

    @Test
    void the_leases_of_many_waiting_events_are_renewed_together() {
        Duration lease = Duration.ofSeconds(3);
        Node node = started(new Node(db.dataSource(), db.store(), d -> d.workerCount(0), p -> p.lockTimeout(lease)));
        for (int i = 0; i < 200; i++) {
            node.write("{}");
        }
        String token = Objects.requireNonNull(db.row(anyEvent()).lockedBy());
        int before = node.connections.get();

        Instant renewed = db.now().plus(lease); // the lease is renewed after each third
        await().atMost(30, TimeUnit.SECONDS).until(() -> db.now().isAfter(renewed));

        assertThat(db.lockedBy(token)).hasSize(200);
        assertThat(node.connections.get() - before).isLessThan(40);
    }

    private String anyEvent() {
        return db.call(connection -> {
            try (var select = connection.prepareStatement("SELECT MIN(event_id) FROM outbox_event");
                    var row = select.executeQuery()) {
                row.next();
                return row.getString(1);
            }
        });
    }

    @Test
    void an_outage_of_the_database_costs_a_running_event_no_attempt() throws Exception {
        Duration lease = Duration.ofMillis(500);
        Node node = started(Node.withLease(db.dataSource(), db.store(), lease));
        CountDownLatch interrupted = new CountDownLatch(1);
        AtomicBoolean first = new AtomicBoolean(true);
        node.listener = event -> {
            if (first.getAndSet(false)) {
                try {
                    new CountDownLatch(1).await(60, TimeUnit.SECONDS);
                } finally {
                    interrupted.countDown();
                }
            }
        };
        EventEnvelope event = node.write("{}");
        await().until(() -> node.delivered.size() == 1);

        node.down = true;
        assertThat(interrupted.await(30, TimeUnit.SECONDS)).isTrue();
        node.down = false;

        awaitRow(event, new Row(EventStatus.NEW, 0, null, null));
        await().atMost(30, TimeUnit.SECONDS).until(() -> {
            node.poller.poll(); // repeated, because the leases are short
            return db.row(event.eventId()).status() == EventStatus.DONE;
        });
        awaitRow(event, DONE);
    }

    @Test
    void an_error_in_a_handler_leaves_no_event_claimed() {
        OutboxPoller poller = OutboxPoller.builder()
                .connectionProvider(db.dataSource()::getConnection)
                .eventStore(db.store())
                .handler((event, attempts) -> {
                    throw new NoClassDefFoundError("of a handler");
                })
                .build();
        db.insert(List.of(EventEnvelope.ofJson("T", "{}"), EventEnvelope.ofJson("T", "{}")));

        poller.poll();

        assertThat(db.count("locked_by IS NOT NULL")).isZero();
    }

    // ---- pools ----

    @Test
    void a_pool_of_one_connection_serves_eight_workers_and_the_poller() {
        DataSource one = Databases.newPool(urlOf(db), 1, true);
        Node node = started(new Node(one, db.store(), d -> d.workerCount(8), p -> {}));
        node.poller.start();

        for (int i = 0; i < 100; i++) {
            node.write("{}");
            node.writeCold("{}");
        }

        await().atMost(60, TimeUnit.SECONDS).until(() -> db.count("status = 1") == 200);
        assertThat(node.deliveredIds()).doesNotHaveDuplicates().hasSize(200);
    }

    @Test
    void a_pool_with_auto_commit_off_keeps_what_the_engine_writes() {
        DataSource off = Databases.newPool(urlOf(db), 5, false);
        Node node = started(new Node(off, db.store()));
        EventEnvelope hot = node.write("{}");
        EventEnvelope cold = node.writeCold("{}");

        for (int i = 0; i < 3; i++) {
            node.poller.poll();
        }

        awaitRow(hot, DONE);
        awaitRow(cold, DONE);
        node.poller.poll();
        assertThat(node.delivered).hasSize(2);
    }

    @Test
    void connections_go_back_to_their_pool_as_they_came() throws SQLException {
        DataSource one = Databases.newPool(urlOf(db), 1, true);
        int isolation;
        try (Connection connection = one.getConnection()) {
            isolation = connection.getTransactionIsolation();
        }
        Node node = started(new Node(one, db.store()));
        EventEnvelope event = node.write("{}");
        node.poller.poll();
        awaitRow(event, DONE);

        try (Connection connection = one.getConnection()) {
            assertThat(connection.getAutoCommit()).isTrue();
            assertThat(connection.isReadOnly()).isFalse();
            assertThat(connection.getTransactionIsolation()).isEqualTo(isolation);
        }
    }

    // ---- many nodes ----

    @Test
    void two_nodes_without_a_fault_deliver_each_event_exactly_once() throws Exception {
        int perThread = database == Databases.H2 ? 250 : 1250;
        Node a = started(new Node(db.dataSource(), db.store()));
        Node b = started(new Node(db.dataSource(), db.store()));
        a.poller.start();
        b.poller.start();
        List<Thread> writers = new ArrayList<>();
        for (int t = 0; t < 8; t++) {
            Node node = t % 2 == 0 ? a : b;
            boolean hot = t % 4 < 2;
            Thread writer = new Thread(() -> {
                for (int i = 0; i < perThread; i++) {
                    node.write(hot ? node.writer : node.coldWriter, EventEnvelope.ofJson("T", "{}"));
                }
            });
            writers.add(writer);
            writer.start();
        }
        for (Thread writer : writers) {
            writer.join(90_000);
        }

        await().atMost(60, TimeUnit.SECONDS).until(() -> db.count("status = 1") == 8L * perThread);

        List<String> all = new ArrayList<>(a.deliveredIds());
        all.addAll(b.deliveredIds());
        assertThat(all).hasSize(8 * perThread).doesNotHaveDuplicates();
        assertThat(db.count("locked_by IS NOT NULL OR locked_at IS NOT NULL OR attempts > 0 OR status <> 1"))
                .isZero();
        assertThat(a.counts.lostClaims.get() + b.counts.lostClaims.get()).isZero();
    }

    // ---- helpers ----

    private Node started(Node node) {
        nodes.add(node);
        return node;
    }

    private void awaitRow(EventEnvelope event, Row expected) {
        await().atMost(30, TimeUnit.SECONDS)
                .untilAsserted(() -> assertThat(db.row(event.eventId())).isEqualTo(expected));
    }

    private static String urlOf(StoreFixture db) {
        return ((HikariDataSource) db.dataSource()).getJdbcUrl();
    }
}
