package outbox.jdbc;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import outbox.EventEnvelope;
import outbox.OutboxException;
import outbox.admin.AdminRequest;
import outbox.admin.EventFilter;
import outbox.admin.OutboxAdmin;
import outbox.dispatch.OutboxDispatcher;
import outbox.model.EventStatus;
import outbox.order.Ordering;
import outbox.poller.OutboxPoller;
import outbox.testing.contract.StoreFixture.Row;

import java.sql.SQLException;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** Three threads of the engine work on the same event. Each is paused at the step where it can do the most harm. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class ThreadTriplesContract extends OrderFixture {

    private static final Duration LEASE = Duration.ofSeconds(1);

    private SteppedStore steps;

    @SuppressWarnings("NullAway.Init") // before each test
    ThreadTriplesContract(Databases database) {
        super(database);
    }

    @BeforeEach
    void makeSteps() {
        steps = new SteppedStore(db.store());
    }

    /** The first attempt to write the outcome fails. At the second attempt, the claim is no longer ours. */
    @Test
    void a_claim_is_adopted_while_the_marker_repeats_and_the_keeper_renews() {
        CountDownLatch adopted = latch();
        CountDownLatch firstTry = new CountDownLatch(1);
        CountDownLatch secondTry = new CountDownLatch(1);
        AtomicInteger tries = new AtomicInteger();
        steps.at("mark", call -> {
            if (tries.incrementAndGet() == 1) {
                call.run();
                firstTry.countDown();
                // the transaction was rolled back
                throw new OutboxException("lost", new SQLException("connection lost", "08006"));
            }
            secondTry.countDown();
            pass(adopted);
            return call.run();
        });
        steps.at("renew", call -> {
            pass(adopted);
            return call.run();
        });
        Node node = node(dispatcher -> {}, poller -> poller.lockTimeout(LEASE));
        node.listener = event -> {};

        EventEnvelope event = node.write("{}");
        String birth = Objects.requireNonNull(db.row(event.eventId()).lockedBy());
        await().atMost(LONG).until(() -> firstTry.getCount() + secondTry.getCount() == 0);
        await().atMost(LONG).until(() -> {
            // claims the event again after its lease expired, for the delivery that waits for its mark
            node.poller.poll();
            return !birth.equals(db.row(event.eventId()).lockedBy());
        });
        adopted.countDown();
        node.poller.start();

        await().atMost(LONG).until(() -> db.row(event.eventId()).status() == EventStatus.DONE);
        assertThat(node.delivered).hasSize(1); // the outcome is written under the new claim
        Row row = db.row(event.eventId());
        assertThat(row.lockedBy()).isNull();
        assertThat(row.attempts()).isLessThanOrEqualTo(1);
        EventEnvelope next = node.write("{}"); // no thread is stuck
        await().atMost(LONG).until(() -> db.row(next.eventId()).status() == EventStatus.DONE);
    }

    @Test
    void a_close_ends_while_the_gate_waits_and_the_marker_has_lost_its_database() throws InterruptedException {
        Node node = node(dispatcher -> {}, poller -> poller.lockTimeout(LEASE));
        CountDownLatch positioned = new CountDownLatch(2);
        steps.at("positions", call -> {
            Object answer = call.run();
            positioned.countDown();
            return answer;
        });
        CountDownLatch hold = latch();
        log.behaviour = event -> pass(hold);
        write(node, node.writer, events("a", 1, 1));
        await().atMost(LONG).until(() -> log.started("a").size() == 1);
        write(node, node.writer, events("a", 2, 2));
        pass(positioned); // the second event waits behind the first one

        node.down = true;
        hold.countDown();
        await().atMost(LONG).until(() -> log.succeeded("a").size() == 1 && node.counts.markFailures.get() > 0);
        Thread closing = new Thread(node::close);
        closing.start();
        // 5 s for the outcome writer, plus the drain
        closing.join(TimeUnit.SECONDS.toMillis(40));

        assertThat(closing.isAlive()).isFalse();
        assertThat(log.started("a")).containsExactly(1);
        Node other = node(dispatcher -> {}, poller -> poller.lockTimeout(LEASE));
        other.poller.start();
        awaitAllDone(2);
        // the first mark was lost because the database was down
        assertThat(log.started("a")).containsExactly(1, 1, 2);
        log.assertInOrder();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void an_event_is_replayed_or_skipped_while_the_gate_decides_about_its_successor(boolean replay)
            throws InterruptedException {
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch changed = latch();
        AtomicInteger asks = new AtomicInteger();
        Node node = node(dispatcher -> dispatcher.maxAttempts(1), poller -> {});
        AtomicInteger runs = new AtomicInteger();
        log.behaviour = event -> {
            if (OrderLog.is(event, "a", 1) && runs.incrementAndGet() == 1) {
                throw new IllegalStateException("not yet");
            }
        };
        write(node, node.writer, events("a", 1, 1));
        await().atMost(LONG).until(() -> db.count("status = 3") == 1);
        steps.at("positions", call -> {
            Object answer = call.run(); // reports that the first event is dead
            if (asks.incrementAndGet() == 1) {
                asked.countDown();
                pass(changed);
            }
            return answer;
        });

        write(node, node.writer, events("a", 2, 3));
        pass(asked);
        OutboxAdmin admin = new OutboxAdmin(db.dataSource()::getConnection, db.store());
        AdminRequest all = AdminRequest.builder()
                .filter(EventFilter.all())
                .actor("test")
                .reason("test")
                .cap(10)
                .confirmed(true)
                .build();
        assertThat((replay ? admin.replay(all) : admin.skip(all)).affected()).isEqualTo(1);
        changed.countDown();
        node.poller.start();

        if (replay) {
            awaitAllDone(3);
            assertThat(log.started("a")).containsExactly(1, 1, 2, 3);
            log.assertInOrder();
        } else {
            awaitAllDone(2);
            assertThat(log.started("a")).containsExactly(1, 2, 3);
            assertThat(db.count("status = 3")).isEqualTo(1);
        }
    }

    private Node node(Consumer<OutboxDispatcher.Builder> dispatcher, Consumer<OutboxPoller.Builder> poller) {
        return node(steps.store(), Ordering.perAggregate(), dispatcher, poller);
    }
}
