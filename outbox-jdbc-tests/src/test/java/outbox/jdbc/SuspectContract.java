package outbox.jdbc;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.AsyncEventListener;
import outbox.BatchEventListener;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.QueuedEvent;
import outbox.jdbc.BombNode.Kind;
import outbox.model.EventStatus;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.testing.contract.StoreFixture;
import outbox.testing.fault.FaultyDataSource;
import outbox.testing.fault.FaultyDataSource.Call;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** Events of a node that died. Only one of them runs at a time, next to the other events. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class SuspectContract {

    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final int WORKERS = 4;

    private final Databases database;
    private final List<Node> nodes = new ArrayList<>();
    private final CountDownLatch gate = new CountDownLatch(1);
    private StoreFixture db;

    SuspectContract(Databases database) {
        this.database = database;
    }

    @BeforeEach
    void createDatabase() {
        db = database.fixture();
    }

    @AfterEach
    void closeNodes() {
        gate.countDown();
        nodes.forEach(Node::close);
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void one_suspect_at_a_time_runs_and_other_events_run_meanwhile(Kind kind) {
        givenSuspects("suspect", 5);
        Set<String> running = ConcurrentHashMap.newKeySet();
        AtomicInteger most = new AtomicInteger();
        CountDownLatch meanwhile = new CountDownLatch(3);
        Node node = started(kind, event -> {
            if (event.eventId().startsWith("plain")) {
                meanwhile.countDown();
                return;
            }
            running.add(event.eventId());
            most.accumulateAndGet(running.size(), Math::max);
            // the first suspect waits for events that are not suspects
            assertThat(meanwhile.await(30, TimeUnit.SECONDS)).isTrue();
            running.remove(event.eventId());
        });
        await().until(() -> !running.isEmpty());

        given("plain", 3);

        await().atMost(30, TimeUnit.SECONDS).until(() -> db.count("status = 1") == 8);
        assertThat(most).hasValue(1);
        assertThat(node.deliveredIds()).doesNotHaveDuplicates();
        assertThat(db.count("event_id LIKE 'suspect%' AND attempts = 1")).isEqualTo(5); // the recorded attempts
        assertThat(db.count("event_id LIKE 'plain%' AND attempts = 0")).isEqualTo(3);
    }

    @Test
    void suspects_that_only_their_claim_reveals_run_one_at_a_time_too() {
        givenSuspects("suspect", 4);
        AtomicInteger running = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        Node node = node(
                Kind.PLAIN,
                event -> {
                    most.accumulateAndGet(running.incrementAndGet(), Math::max);
                    await().pollDelay(Duration.ofMillis(20)).until(() -> true);
                    running.decrementAndGet();
                },
                settings -> {});

        // like a user's handler that does not know claims
        events("suspect", 4)
                .forEach(event -> node.dispatcher.enqueueCold(new QueuedEvent(event, QueuedEvent.Source.COLD, 0)));

        await().atMost(30, TimeUnit.SECONDS).until(() -> db.count("status = 1 AND attempts = 1") == 4);
        assertThat(most).hasValue(1);
    }

    @Test
    void a_suspect_with_an_attempt_runs_alone() {
        givenSuspects("suspect", 2);
        givenSuspects("charged", 1, 1);
        given("plain", 8);
        Set<String> running = ConcurrentHashMap.newKeySet();
        Set<String> together = ConcurrentHashMap.newKeySet();
        started(Kind.PLAIN, event -> {
            running.add(event.eventId());
            if (running.contains("charged-0")) {
                together.addAll(running);
            }
            await().pollDelay(Duration.ofMillis(20)).until(() -> true);
            if (running.contains("charged-0")) {
                together.addAll(running);
            }
            running.remove(event.eventId());
        });

        await().atMost(30, TimeUnit.SECONDS).until(() -> db.count("status = 1") == 11);
        assertThat(together).containsExactly("charged-0");
        assertThat(db.row("charged-0").attempts()).isEqualTo(2);
    }

    @Test
    void a_listener_that_takes_long_does_not_keep_a_suspect_waiting_that_must_be_alone() throws Exception {
        CountDownLatch inside = new CountDownLatch(1);
        Node node = started(Kind.PLAIN, event -> {
            if (event.eventId().startsWith("plain")) {
                inside.countDown();
                gate.await();
            }
        });
        given("plain", 1);
        assertThat(inside.await(30, TimeUnit.SECONDS)).isTrue();

        givenSuspects("suspect", 1, 1);

        await().atMost(30, TimeUnit.SECONDS).until(() -> db.row("suspect-0").status() == EventStatus.DONE);
        assertThat(db.row("plain-0").status()).isEqualTo(EventStatus.NEW);
        assertThat(node.deliveredIds()).containsExactly("plain-0", "suspect-0");
    }

    @Test
    void a_suspect_whose_outcome_cannot_be_written_yet_keeps_no_event_waiting() throws Exception {
        givenSuspects("charged", 1, 1); // a charged suspect runs alone
        given("plain", 8);
        try (Connection stranger = db.open()) {
            started(Kind.PLAIN, event -> {
                if (event.eventId().equals("charged-0")) {
                    lockRow(stranger, "charged-0");
                }
            });

            await().atMost(30, TimeUnit.SECONDS).until(() -> db.count("status = 1") == 8);
            assertThat(db.row("charged-0").status()).isEqualTo(EventStatus.NEW);
            givenSuspects("suspect", 2, 1);
            await().atMost(30, TimeUnit.SECONDS).until(() -> db.count("status = 1") == 10);
            stranger.rollback();
        }
        await().atMost(30, TimeUnit.SECONDS).until(() -> db.row("charged-0").status() == EventStatus.DONE);
    }

    private void lockRow(Connection stranger, String eventId) throws SQLException {
        stranger.setAutoCommit(false);
        stranger.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
        try (Statement select = stranger.createStatement()) {
            select.execute("SELECT 1 FROM " + db.table() + " WHERE event_id = '" + eventId + "' FOR UPDATE");
        }
    }

    @Test
    void a_suspect_that_a_close_cut_short_keeps_its_attempts() throws Exception {
        givenSuspects("suspect", 1);
        CountDownLatch inside = new CountDownLatch(1);
        Node node = started(
                Kind.PLAIN,
                event -> {
                    inside.countDown();
                    gate.await();
                },
                settings -> settings.drainTimeoutMs(100));
        assertThat(inside.await(30, TimeUnit.SECONDS)).isTrue();
        assertThat(db.row("suspect-0").attempts()).isEqualTo(1); // the attempt is recorded before the run

        node.close();

        assertThat(db.row("suspect-0").attempts()).isZero();
        assertThat(db.row("suspect-0").lockedBy()).isNull(); // its run ended, and the process is alive
    }

    @Test
    void a_suspect_whose_run_was_recorded_by_a_commit_that_broke_keeps_its_attempts() {
        givenSuspects("suspect", 1, 1);
        FaultyDataSource faulty = new FaultyDataSource(db.dataSource());
        AtomicBoolean recorded = new AtomicBoolean();
        FaultyDataSource.Fault broken = faulty.failAfter(
                1,
                call -> {
                    recorded.compareAndSet(
                            false, Call.executing("SET attempts = ?").test(call));
                    return recorded.get() && call.method().equals("commit");
                },
                "08006");
        Node node = node(faulty, Kind.PLAIN, event -> {}, settings -> {});

        events("suspect", 1)
                .forEach(event -> node.dispatcher.enqueueCold(new QueuedEvent(event, QueuedEvent.Source.COLD, 0)));

        await().atMost(30, TimeUnit.SECONDS)
                // the count was 2
                .until(() -> broken.happened() && db.row("suspect-0").attempts() == 1);
        assertThat(node.delivered).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void a_listener_that_runs_out_of_memory_costs_its_neighbours_no_attempt(Kind kind) {
        given("plain", 6);
        Set<String> failed = ConcurrentHashMap.newKeySet();
        Node node = started(kind, event -> {
            boolean bomb = event.eventId().equals("plain-0"); // one such event fails a whole batch
            if (bomb || kind != Kind.BATCH && failed.add(event.eventId())) {
                throw new OutOfMemoryError("Java heap space, in this test");
            }
        });

        await().atMost(60, TimeUnit.SECONDS).until(() -> db.count("status = 1") == 5 && db.count("status = 3") == 1);
        assertThat(db.row("plain-0").attempts()).isEqualTo(3); // it ran alone when it failed again
        assertThat(db.row("plain-0").lastError()).contains("OutOfMemoryError");
        // at most the recorded run that succeeded
        assertThat(db.count("status = 1 AND attempts <= 1")).isEqualTo(5);
        assertThat(node.counts.failure.get()).isEqualTo(2);
    }

    @Test
    void a_thousand_suspects_are_delivered_soon_and_slow_ones_leave_room_for_other_events() {
        givenSuspects("suspect", 1_000);
        CountDownLatch slow = new CountDownLatch(1);
        Node node = started(Kind.PLAIN, event -> {
            if (event.eventId().startsWith("suspect")) {
                slow.await();
            }
        });
        given("plain", 1_000);

        await().atMost(30, TimeUnit.SECONDS).until(() -> db.count("event_id LIKE 'plain%' AND status = 1") == 1_000);
        // the rest is left for other nodes
        assertThat(node.dispatcher.status().coldWaiting()).isLessThanOrEqualTo(100);
        long start = System.nanoTime();
        slow.countDown();

        await().atMost(60, TimeUnit.SECONDS).until(() -> db.count("status = 1") == 2_000);
        System.out.println("1000 suspects took " + Duration.ofNanos(System.nanoTime() - start));
        assertThat(node.deliveredIds()).doesNotHaveDuplicates();
    }

    @Test
    void a_claim_that_takes_no_suspects_leaves_those_whose_lease_ended() {
        givenSuspects("suspect", 2);
        given("plain", 1);

        List<String> claimed = db.call(connection -> {
            Instant now = db.store().now(connection);
            Claim claim = Claim.startingNow("ours", LEASE);
            var released = db.store().claim(connection, claim, ClaimRequest.of(now, now, 1));
            db.store()
                    .releaseSuspects(
                            connection, "ours", List.of(released.get(0).event().eventId()));
            return db.store().claim(connection, claim, ClaimRequest.of(now, Instant.EPOCH, 10)).stream()
                    .map(one -> one.event().eventId())
                    .toList();
        });

        assertThat(claimed).containsExactly("plain-0");
    }

    private Node started(Kind kind, EventListener listener) {
        return started(kind, listener, settings -> {});
    }

    private Node started(Kind kind, EventListener listener, Consumer<OutboxDispatcher.Builder> settings) {
        Node node = node(kind, listener, settings);
        node.poller.start();
        return node;
    }

    private Node node(Kind kind, EventListener listener, Consumer<OutboxDispatcher.Builder> settings) {
        return node(db.dataSource(), kind, listener, settings);
    }

    private Node node(
            DataSource dataSource, Kind kind, EventListener listener, Consumer<OutboxDispatcher.Builder> settings) {
        AtomicInteger number = new AtomicInteger();
        List<Node> self = new ArrayList<>();
        EventListener noting = event -> {
            self.get(0).delivered.add(event);
            listener.onEvent(event);
        };
        EventListener ofKind = switch (kind) {
            case PLAIN -> noting;
            case BATCH ->
                (BatchEventListener) events -> {
                    for (EventEnvelope event : events) {
                        noting.onEvent(event);
                    }
                    return BatchEventListener.Outcome.allDelivered();
                };
            case ASYNC ->
                (AsyncEventListener) event -> {
                    CompletableFuture<Void> stage = new CompletableFuture<>();
                    Thread thread = new Thread(
                            () -> {
                                try {
                                    noting.onEvent(event);
                                    stage.complete(null);
                                } catch (Throwable e) {
                                    stage.completeExceptionally(e);
                                }
                            },
                            "stage-" + number.incrementAndGet());
                    thread.setDaemon(true);
                    thread.start();
                    return stage;
                };
        };
        Node node = new Node(
                dataSource,
                db.store(),
                dispatcher -> {
                    dispatcher
                            .listenerRegistry((aggregateType, eventType) -> ofKind)
                            .workerCount(WORKERS)
                            .maxAttempts(3);
                    settings.accept(dispatcher);
                },
                poller -> poller.lockTimeout(LEASE));
        self.add(node);
        nodes.add(node);
        return node;
    }

    private void given(String name, int count) {
        db.insert(events(name, count));
    }

    private static List<EventEnvelope> events(String name, int count) {
        List<EventEnvelope> events = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            events.add(EventEnvelope.builder("T")
                    .eventId(name + "-" + i)
                    .payloadJson("{}")
                    .build());
        }
        return events;
    }

    private void givenSuspects(String name, int count) {
        givenSuspects(name, count, 0);
    }

    /** Creates events that a node claimed and attempted this often, and whose lease has expired. */
    private void givenSuspects(String name, int count, int attempts) {
        List<EventEnvelope> events = events(name, count);
        db.inTransaction(connection -> {
            Claim dead = new Claim("a-node-that-died/1", 0);
            Instant now = db.store().now(connection);
            db.store().insertAll(connection, events, dead);
            List<String> ids = events.stream().map(EventEnvelope::eventId).toList();
            db.store().renew(connection, dead.token(), ids, now.minus(LEASE.multipliedBy(2)));
            ids.forEach(id -> db.store().setAttempts(connection, dead.token(), id, attempts));
        });
    }
}
