package outbox.jdbc;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.order.Ordering;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** Contract tests for ordered delivery across nodes and while others hold locks. One node alone cannot show this. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class OrderedNodesContract extends OrderFixture {

    private static final Duration LEASE = Duration.ofSeconds(1);

    OrderedNodesContract(Databases database) {
        super(database);
    }

    @Test
    void two_nodes_that_write_to_the_same_aggregates_in_turn_deliver_each_event_once_and_in_order() {
        Node one = node();
        Node other = node();
        one.poller.start();
        other.poller.start();

        for (int number = 1; number <= 100; number++) {
            Node writing = number % 2 == 0 ? one : other;
            for (String aggregate : List.of("a", "b", "c", "d")) {
                write(
                        writing,
                        number % 10 == 0 ? writing.coldWriter : writing.writer,
                        OrderLog.event(aggregate, number));
            }
        }

        awaitAllDone(400);
        assertThat(log.steps).hasSize(800);
        assertThat(one.delivered).isNotEmpty();
        assertThat(other.delivered).isNotEmpty();
        log.assertInOrder();
    }

    @Test
    void two_nodes_whose_runs_fail_now_and_then_keep_the_order() {
        Node one = node(Ordering.perAggregate(), dispatcher -> dispatcher.maxAttempts(1000), poller -> {});
        Node other = node(Ordering.perAggregate(), dispatcher -> dispatcher.maxAttempts(1000), poller -> {});
        log.behaviour = event -> {
            if (log.steps.size() % 5 == 0) {
                throw new IllegalStateException("fails now and then");
            }
        };
        one.poller.start();
        other.poller.start();

        for (int number = 1; number <= 60; number++) {
            Node writing = number % 2 == 0 ? one : other;
            for (String aggregate : List.of("a", "b", "c")) {
                write(writing, writing.writer, OrderLog.event(aggregate, number));
            }
        }

        awaitAllDone(180);
        log.assertInOrder();
    }

    @Test
    void an_event_whose_row_is_locked_by_another_transaction_is_not_passed_by_its_successor() throws SQLException {
        Node node = node();
        EventEnvelope head = OrderLog.event("a", 1);
        write(node, node.coldWriter, head);
        try (Connection elsewhere = db.open();
                PreparedStatement lock =
                        elsewhere.prepareStatement("SELECT event_id FROM outbox_event WHERE event_id = ? FOR UPDATE")) {
            lock.setString(1, head.eventId());
            assertThat(lock.executeQuery().next()).isTrue();

            write(node, node.coldWriter, OrderLog.event("a", 2));
            write(node, node.writer, OrderLog.event("a", 3));
            write(node, node.coldWriter, OrderLog.event("b", 1));
            node.poller.start();

            awaitDone("b", 1);
            node.poller.poll();
            assertThat(log.started("a")).isEmpty();
            elsewhere.rollback();
        }

        awaitAllDone(4);
        assertThat(log.started("a")).containsExactly(1, 2, 3);
        log.assertInOrder();
    }

    @Test
    void a_node_that_takes_over_a_running_event_keeps_the_order() {
        Node cutOff = shortLease();
        CountDownLatch hold = latch();
        log.behaviour = event -> {
            if (OrderLog.is(event, "a", 1)) {
                passUninterruptibly(hold);
            }
        };
        write(cutOff, cutOff.writer, events("a", 1, 5));
        await().until(() -> log.started("a").size() == 1);
        cutOff.down = true;

        Node other = shortLease();
        log.behaviour = event -> {};
        write(other, other.writer, events("a", 6, 7));
        other.poller.start();
        await().atMost(LONG).until(() -> log.succeeded("a").contains(7));
        cutOff.down = false;
        cutOff.poller.start();
        write(cutOff, cutOff.writer, events("a", 8, 8));
        hold.countDown();

        awaitAllDone(8);
        await().until(() -> log.succeeded("a").size() == 9);
        assertThat(log.started("a")).containsExactly(1, 1, 2, 3, 4, 5, 6, 7, 8);
        log.assertInOrder();
    }

    @Test
    void an_outcome_that_comes_after_the_lease_lets_nobody_pass() {
        Node cutOff = shortLease();
        CountDownLatch late = latch();
        CountDownLatch hold = latch();
        log.behaviour = event -> {
            if (OrderLog.is(event, "a", 1)) {
                passUninterruptibly(log.started("a").size() == 1 ? late : hold);
            }
        };
        write(cutOff, cutOff.writer, events("a", 1, 1));
        await().until(() -> log.started("a").size() == 1);
        cutOff.down = true;
        Node other = shortLease();
        other.poller.start();
        await().atMost(LONG).until(() -> log.started("a").size() == 2);
        cutOff.down = false;

        write(cutOff, cutOff.writer, events("a", 2, 2));
        write(cutOff, cutOff.writer, events("b", 1, 1));
        awaitDone("b", 1); // so the second event is waiting now
        int lost = cutOff.counts.lostClaims.get();
        late.countDown();
        await().until(() -> cutOff.counts.lostClaims.get() > lost);
        write(cutOff, cutOff.writer, events("c", 1, 1));
        awaitDone("c", 1);
        assertThat(log.started("a")).containsExactly(1, 1); // the other node has not finished the event
        hold.countDown();

        awaitAllDone(4);
        assertThat(log.started("a")).containsExactly(1, 1, 2);
    }

    private Node shortLease() {
        return node(Ordering.perAggregate(), dispatcher -> {}, poller -> poller.lockTimeout(LEASE));
    }

    static void passUninterruptibly(CountDownLatch latch) {
        while (true) {
            try {
                pass(latch);
                return;
            } catch (InterruptedException e) {
                // ignored on purpose
            }
        }
    }
}
