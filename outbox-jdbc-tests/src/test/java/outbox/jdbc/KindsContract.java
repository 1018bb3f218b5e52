package outbox.jdbc;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.AsyncEventListener;
import outbox.BatchEventListener;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.EventRef;
import outbox.OutboxWriter.Change;
import outbox.dispatch.DefaultInFlightTracker;
import outbox.dispatch.OutboxDispatcher;
import outbox.model.EventStatus;
import outbox.testing.contract.StoreFixture;
import outbox.testing.contract.StoreFixture.Row;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** How the kinds of listeners, deletion and a backlog affect leases and rows, on a real database. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class KindsContract {

    private static final Row DONE = new Row(EventStatus.DONE, 0, null, null);
    private static final Row UNTOUCHED = new Row(EventStatus.NEW, 0, null, null);
    private static final long HOUR = 3_600_000;

    private final Databases database;
    private final List<Node> nodes = new ArrayList<>();
    private final List<CompletableFuture<Void>> stages = new CopyOnWriteArrayList<>();
    private final AsyncEventListener async = event -> {
        CompletableFuture<Void> stage = new CompletableFuture<>();
        stages.add(stage);
        return stage;
    };
    private StoreFixture db;

    KindsContract(Databases database) {
        this.database = database;
    }

    @BeforeEach
    void createDatabase() {
        db = database.fixture();
    }

    @AfterEach
    void closeNodes() {
        stages.forEach(stage -> stage.complete(null));
        nodes.forEach(Node::close);
    }

    // ---- asynchronous listeners ----

    @Test
    void an_event_whose_stage_did_not_complete_before_the_close_is_left_to_its_lease_and_cannot_be_cancelled() {
        Node node = new Node(
                db.dataSource(),
                db.store(),
                listening(async).andThen(d -> d.drainTimeoutMs(100).ownerId("closed")),
                p -> {});
        EventEnvelope event = node.write("{}");
        await().until(() -> stages.size() == 1);

        node.close();

        assertThat(stages).allMatch(CompletableFuture::isCancelled);
        Row row = db.row(event.eventId());
        assertThat(row.lockedBy()).startsWith("closed/");
        assertThat(row).isEqualTo(new Row(EventStatus.NEW, 0, null, row.lockedBy()));
        Node other = started(new Node(db.dataSource(), db.store()));
        try (JdbcTransactionManager.Transaction tx = other.transactions.begin()) {
            assertThat(other.writer.cancel(EventRef.id(event.eventId()))).isEqualTo(Change.TOO_LATE);
            tx.commit();
        }
    }

    @Test
    void an_event_that_its_listener_withdraws_at_the_close_is_free_at_once() {
        AsyncEventListener withdrawing = new AsyncEventListener() {
            @Override
            public CompletionStage<?> onEventAsync(EventEnvelope event) throws Exception {
                return async.onEventAsync(event);
            }

            @Override
            public boolean withdraw(EventEnvelope event) {
                return event.payloadJson().equals("\"not sent\"");
            }
        };
        Node node = new Node(
                db.dataSource(), db.store(), listening(withdrawing).andThen(d -> d.drainTimeoutMs(100)), p -> {});
        EventEnvelope sent = node.write("\"sent\"");
        EventEnvelope notSent = node.write("\"not sent\"");
        await().until(() -> stages.size() == 2);

        node.close();

        assertThat(db.row(notSent.eventId())).isEqualTo(UNTOUCHED);
        assertThat(db.row(sent.eventId()).lockedBy()).isNotNull();
    }

    @Test
    void an_event_that_is_stuck_in_flight_is_delivered_again_and_its_first_run_changes_nothing() throws Exception {
        CountDownLatch gate = new CountDownLatch(1);
        CountDownLatch ended = new CountDownLatch(1);
        AtomicInteger runs = new AtomicInteger();
        EventListener stuckAtFirst = event -> {
            if (runs.incrementAndGet() == 1) {
                awaitUninterruptibly(gate);
                ended.countDown();
                throw new IllegalStateException("the first run");
            }
        };
        Node node = started(new Node(
                db.dataSource(),
                db.store(),
                listening(stuckAtFirst).andThen(d -> d.inFlightTracker(new DefaultInFlightTracker(300))),
                p -> p.lockTimeout(Duration.ofSeconds(2))));
        EventEnvelope event = node.write("{}");

        node.poller.start();
        await().atMost(30, TimeUnit.SECONDS).until(() -> db.row(event.eventId()).status() == EventStatus.DONE);
        Row done = db.row(event.eventId());
        gate.countDown();
        assertThat(ended.await(30, TimeUnit.SECONDS)).isTrue();
        node.close();

        assertThat(runs).hasValue(2);
        assertThat(done.attempts()).isEqualTo(1); // the run that was abandoned
        assertThat(db.row(event.eventId())).isEqualTo(done);
        assertThat(node.counts.stuck).hasValue(1);
    }

    private static void awaitUninterruptibly(CountDownLatch gate) {
        while (true) {
            try {
                gate.await();
                return;
            } catch (InterruptedException e) {
                // ignored: the listener is stuck
            }
        }
    }

    @Test
    void a_stage_that_takes_longer_than_the_lease_keeps_its_event() {
        Duration lease = Duration.ofMillis(1500);
        Node node = started(new Node(db.dataSource(), db.store(), listening(async), p -> p.lockTimeout(lease)));
        Node other = started(Node.withLease(db.dataSource(), db.store(), lease));
        EventEnvelope event = node.write("{}");
        await().until(() -> stages.size() == 1);
        Instant until = db.now().plus(lease.multipliedBy(2));

        other.poller.start();
        await().atMost(30, TimeUnit.SECONDS).until(() -> db.now().isAfter(until));
        stages.get(0).complete(null);

        awaitRow(event, DONE);
        assertThat(other.delivered).isEmpty();
    }

    @Test
    void a_stage_whose_lease_is_lost_is_cancelled_and_costs_no_attempt() {
        Node node = started(
                new Node(db.dataSource(), db.store(), listening(async), p -> p.lockTimeout(Duration.ofMillis(500))));
        EventEnvelope event = node.write("{}");
        await().until(() -> stages.size() == 1);

        node.down = true; // it can no longer renew its leases
        await().atMost(30, TimeUnit.SECONDS).until(() -> stages.get(0).isCancelled());
        node.down = false;

        assertThat(db.row(event.eventId()).attempts()).isZero();
        // the stage may still be running, so the event is a suspect
        assertThat(db.row(event.eventId()).lockedBy()).isNotNull();
        node.poller.start();
        await().atMost(30, TimeUnit.SECONDS).until(() -> {
            stages.forEach(stage -> stage.complete(null));
            return db.row(event.eventId()).status() == EventStatus.DONE;
        });
        assertThat(node.counts.lostClaims).hasValueGreaterThan(0);
        assertThat(node.counts.failure).hasValue(0);
    }

    // ---- batch listeners ----

    @Test
    void one_event_of_a_call_that_is_lost_costs_the_others_no_attempt() throws Exception {
        CountDownLatch gate = new CountDownLatch(1);
        CountDownLatch called = new CountDownLatch(1);
        CountDownLatch never = new CountDownLatch(1);
        List<Integer> sizes = new CopyOnWriteArrayList<>();
        BatchEventListener batch = events -> {
            sizes.add(events.size());
            called.countDown();
            never.await(60, TimeUnit.SECONDS);
            return BatchEventListener.Outcome.allDelivered();
        };
        Node node = started(new Node(
                db.dataSource(),
                db.store(),
                d -> d.workerCount(1)
                        .listenerRegistry((aggregateType, type) -> type.equals("T") ? batch : event -> gate.await()),
                p -> p.lockTimeout(Duration.ofSeconds(1))));
        node.write(node.writer, EventEnvelope.ofJson("first", "{}"));
        List<EventEnvelope> events = List.of(node.write("{}"), node.write("{}"), node.write("{}"));
        gate.countDown();
        assertThat(called.await(30, TimeUnit.SECONDS)).isTrue();

        steal(events.get(1));

        awaitRow(events.get(0), UNTOUCHED);
        awaitRow(events.get(2), UNTOUCHED);
        assertThat(db.row(events.get(1).eventId())).isEqualTo(new Row(EventStatus.NEW, 0, null, "thief/1"));
        assertThat(sizes).containsExactly(3);
        assertThat(node.counts.failure).hasValue(0);
    }

    // ---- deletion ----

    @Test
    void delivered_events_are_deleted_on_both_paths_and_others_kept() {
        Node node = started(
                new Node(db.dataSource(), db.store(), d -> d.deleteDone(true).maxAttempts(2), p -> {}));
        node.listener = event -> {
            if (event.payloadJson().contains("bad")) {
                throw new IllegalStateException("fails");
            }
        };
        EventEnvelope bad = node.write("{\"bad\":true}");
        node.write("{}");
        node.writeCold("{}");
        awaitRow(bad, new Row(EventStatus.RETRY, 1, "java.lang.IllegalStateException: fails", null));
        EventEnvelope unseen = node.writeCold("{}");

        node.poller.poll();

        awaitRow(bad, new Row(EventStatus.DEAD, 2, "java.lang.IllegalStateException: fails", null));
        await().until(() -> db.count("1 = 1") == 1);
        assertThat(node.deliveredIds()).contains(unseen.eventId()).hasSize(5);
        assertThat(node.counts.success).hasValue(3);
        assertThat(node.counts.lostClaims).hasValue(0);
    }

    @Test
    void an_event_that_is_another_nodes_by_now_is_not_deleted() throws Exception {
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        Node node = started(new Node(db.dataSource(), db.store(), d -> d.deleteDone(true), p -> {}));
        node.listener = event -> {
            inside.countDown();
            go.await(30, TimeUnit.SECONDS);
        };
        EventEnvelope event = node.write("{}");
        assertThat(inside.await(30, TimeUnit.SECONDS)).isTrue();

        steal(event);
        go.countDown();

        await().untilAsserted(() -> assertThat(node.counts.lostClaims).hasValue(1));
        assertThat(db.row(event.eventId())).isEqualTo(new Row(EventStatus.NEW, 0, null, "thief/1"));
        assertThat(node.counts.success).hasValue(0);
    }

    // ---- a backlog ----

    @Test
    void a_backlog_is_delivered_without_waiting_for_the_interval() {
        Node node = started(new Node(db.dataSource(), db.store(), d -> {}, p -> p.intervalMs(HOUR)));
        givenBacklog(5000);

        node.poller.start();

        await().atMost(90, TimeUnit.SECONDS).until(() -> db.count("status = 1") == 5000);
        assertThat(node.deliveredIds()).hasSize(5000).doesNotHaveDuplicates();
    }

    @Test
    void a_backlog_is_delivered_without_waiting_for_the_interval_by_listeners_that_are_slower_than_the_poller() {
        Semaphore pace = new Semaphore(0);
        Node node = started(new Node(
                db.dataSource(), db.store(), d -> d.workerCount(2).coldQueueCapacity(100), p -> p.intervalMs(HOUR)));
        node.listener = event -> pace.acquire();
        givenBacklog(1000);

        node.poller.start();

        for (int let = 0; let < 1000; let += 25) {
            int inListeners = Math.min(1000, let + 2); // all that were let through, and the two that wait
            await().atMost(30, TimeUnit.SECONDS).until(() -> node.delivered.size() == inListeners);
            pace.release(25);
        }
        await().atMost(30, TimeUnit.SECONDS).until(() -> db.count("status = 1") == 1000);
        assertThat(node.deliveredIds()).doesNotHaveDuplicates();
    }

    @Test
    void a_poller_takes_what_there_is_room_for_after_a_full_batch_unless_its_size_was_set() {
        Node free = started(
                new Node(db.dataSource(), db.store(), d -> d.workerCount(0).maxQueuedBytes(64 << 20), p -> {}));
        Node bound = started(new Node(db.dataSource(), db.store(), d -> d.workerCount(0), p -> p.batchSize(50)));
        givenBacklog(2000);

        free.poller.poll();
        assertThat(db.count("locked_by IS NOT NULL")).isEqualTo(50);
        free.poller.poll();
        assertThat(db.count("locked_by IS NOT NULL")).isEqualTo(1000);
        for (int i = 0; i < 3; i++) {
            bound.poller.poll();
        }

        assertThat(db.count("locked_by IS NOT NULL")).isEqualTo(1150);
    }

    // ---- helpers ----

    private static Consumer<OutboxDispatcher.Builder> listening(EventListener listener) {
        return dispatcher -> dispatcher.listenerRegistry((aggregateType, type) -> listener);
    }

    private void givenBacklog(int events) {
        for (int i = 0; i < events; i += 500) {
            db.insert(IntStream.range(0, 500)
                    .mapToObj(n -> EventEnvelope.ofJson("T", "{}"))
                    .toList());
        }
    }

    /** Claims the event for another node. */
    private void steal(EventEnvelope event) {
        db.inTransaction(connection -> {
            try (var update =
                    connection.prepareStatement("UPDATE outbox_event SET locked_by = 'thief/1' WHERE event_id = ?")) {
                update.setString(1, event.eventId());
                assertThat(update.executeUpdate()).isEqualTo(1);
            }
        });
    }

    private Node started(Node node) {
        nodes.add(node);
        return node;
    }

    private void awaitRow(EventEnvelope event, Row expected) {
        await().atMost(30, TimeUnit.SECONDS)
                .untilAsserted(() -> assertThat(db.row(event.eventId())).isEqualTo(expected));
    }
}
