package outbox.jdbc;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.EventEnvelope;
import outbox.admin.AdminRequest;
import outbox.admin.AdminResult;
import outbox.admin.EventFilter;
import outbox.admin.OutboxAdmin;
import outbox.model.EventStatus;
import outbox.order.Ordering;
import outbox.order.Ordering.WhenDead;
import outbox.spi.EventOrder.BlockedAggregate;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** Tests for an aggregate with a dead event: what happens to its other events, and what an operator can do. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class DeadHeadContract extends OrderFixture {

    private volatile boolean healed;

    DeadHeadContract(Databases database) {
        super(database);
    }

    // ---- BLOCK ----

    @Test
    void a_dead_event_blocks_its_aggregate_and_no_other() {
        Node node = givenDeadHead(WhenDead.BLOCK);

        write(node, node.writer, events("b", 1, 3));
        awaitDone("b", 3);
        node.poller.poll();

        assertThat(log.started("a")).containsExactly(1);
        BlockedAggregate blocked = blocked();
        assertThat(blocked.aggregateId()).isEqualTo("a");
        assertThat(blocked.lastError()).contains("not yet");
        assertThat(blocked.waiting()).isEqualTo(4);
        assertThat(blocked.alsoDead()).isZero();
    }

    @Test
    void a_replayed_event_is_delivered_before_those_that_waited_for_it() {
        Node node = givenDeadHead(WhenDead.BLOCK);
        healed = true;

        replay(EventFilter.all());
        write(node, node.writer, events("a", 6, 8));

        awaitAllDone(8);
        assertThat(log.succeeded("a")).containsExactly(1, 2, 3, 4, 5, 6, 7, 8);
        log.assertInOrder();
        assertThat(admin().blockedAggregates(10)).isEmpty();
    }

    @Test
    void behind_a_skipped_event_the_others_go_on_in_order() {
        givenDeadHead(WhenDead.BLOCK);

        admin().skip(request(EventFilter.all()));

        awaitDone("a", 4);
        assertThat(log.started("a")).containsExactly(1, 2, 3, 4, 5);
        assertThat(db.count("status = 3")).isEqualTo(1);
        assertThat(admin().blockedAggregates(10)).isEmpty();
    }

    @Test
    void behind_a_discarded_event_the_others_go_on_in_order() {
        givenDeadHead(WhenDead.BLOCK);

        admin().discard(request(EventFilter.all()));

        awaitAllDone(4);
        assertThat(log.started("a")).containsExactly(1, 2, 3, 4, 5);
        assertThat(admin().blockedAggregates(10)).isEmpty();
    }

    @Test
    void a_node_that_starts_later_is_blocked_too() {
        givenDeadHead(WhenDead.BLOCK).close();
        Node later = node(Ordering.perAggregate());
        later.poller.start();

        write(later, later.writer, events("a", 6, 6));
        write(later, later.coldWriter, events("b", 1, 1));
        awaitDone("b", 1);
        later.poller.poll();

        assertThat(log.started("a")).containsExactly(1);
        assertThat(blocked().waiting()).isEqualTo(5);
    }

    // ---- SKIP ----

    @Test
    void a_dead_event_that_others_may_pass_is_still_shown() {
        givenDeadHead(WhenDead.SKIP);

        awaitDone("a", 4);
        assertThat(log.started("a")).containsExactly(1, 2, 3, 4, 5);
        assertThat(db.count("status = 3")).isEqualTo(1);
        assertThat(blocked().aggregateId()).isEqualTo("a");
        assertThat(blocked().waiting()).isZero();
    }

    // ---- PARK ----

    @Test
    void events_behind_a_dead_one_are_parked_with_it_and_replayed_in_order() {
        Node node = givenDeadHead(WhenDead.PARK);
        await().atMost(LONG).until(() -> db.count("status = 3") == 5);

        assertThat(log.started("a")).containsExactly(1);
        assertThat(db.count("last_error LIKE 'Parked: %' AND attempts = 0")).isEqualTo(4);
        assertThat(blocked().alsoDead()).isEqualTo(4);
        assertThat(blocked().lastError()).contains("not yet");
        healed = true;
        replay(EventFilter.all());
        write(node, node.writer, events("a", 6, 8));

        awaitAllDone(8);
        assertThat(log.succeeded("a")).containsExactly(1, 2, 3, 4, 5, 6, 7, 8);
        log.assertInOrder();
    }

    @Test
    void a_queue_in_the_table_is_parked_at_once() {
        List<EventEnvelope> queue = List.of(events("a", 1, 200));
        db.insert(queue);
        makeDead(queue.subList(0, 1));
        Node node = node(
                Ordering.perAggregate().whenDead(WhenDead.PARK),
                dispatcher -> {},
                // a poll interval per event would take minutes
                poller -> poller.intervalMs(60_000));

        node.poller.start();

        await().atMost(LONG).until(() -> db.count("status = 3") == 200);
        assertThat(log.started("a")).isEmpty();
    }

    @Test
    void many_parked_events_are_replayed_in_order_whatever_their_ids() {
        List<String> ids = new ArrayList<>(
                IntStream.rangeClosed(1, 700).mapToObj(i -> "id-" + i).toList());
        Collections.shuffle(ids, new Random(3));
        List<EventEnvelope> events = IntStream.rangeClosed(1, 700)
                .mapToObj(number -> EventEnvelope.builder("T")
                        .eventId(ids.get(number - 1))
                        .aggregateType("Order")
                        .aggregateId("a")
                        .payloadJson(Integer.toString(number))
                        .build())
                .toList();
        db.insert(events);
        makeDead(events);
        Node node = node(Ordering.perAggregate().whenDead(WhenDead.PARK));
        node.poller.start();

        replay(EventFilter.all());

        awaitAllDone(700);
        assertThat(log.started("a")).isSorted().hasSize(700);
        log.assertInOrder();
    }

    // ---- replay of a successor alone ----

    @ParameterizedTest
    @EnumSource(
            value = WhenDead.class,
            names = {"BLOCK", "PARK"})
    void a_successor_that_is_replayed_alone_does_not_pass_the_dead_one(WhenDead policy) {
        EventEnvelope[] three = events("a", 1, 3);
        db.insert(Arrays.asList(three));
        makeDead(Arrays.asList(three));
        Node node = node(Ordering.perAggregate().whenDead(policy));
        node.poller.start();

        replay(EventFilter.ids(List.of(three[1].eventId())));

        if (policy == WhenDead.PARK) {
            await().atMost(LONG).until(() -> error(three[1]).startsWith("Parked: "));
            await().atMost(LONG).until(() -> statusOf(three[1]) == EventStatus.DEAD);
        } else {
            write(node, node.coldWriter, events("b", 1, 1));
            awaitDone("b", 1);
            assertThat(statusOf(three[1])).isEqualTo(EventStatus.NEW);
        }
        assertThat(log.started("a")).isEmpty();

        replay(EventFilter.all());
        awaitDone("a", 3);
        assertThat(log.started("a")).containsExactly(1, 2, 3);
    }

    // ---- helpers ----

    /**
     * Creates a node and an aggregate with five events. The first one is dead. The others were written before and
     * after its death, on the hot and the cold path.
     */
    private Node givenDeadHead(WhenDead policy) {
        Node node =
                node(Ordering.perAggregate().whenDead(policy), dispatcher -> dispatcher.maxAttempts(1), poller -> {});
        var hold = latch();
        log.behaviour = event -> {
            if (OrderLog.is(event, "a", 1)) {
                pass(hold);
                if (!healed) {
                    throw new IllegalStateException("not yet");
                }
            }
        };
        write(node, node.writer, events("a", 1, 2));
        write(node, node.coldWriter, events("a", 3, 3));
        hold.countDown();
        await().atMost(LONG).until(() -> db.count("status = 3") >= 1);
        node.poller.start();
        write(node, node.writer, events("a", 4, 4));
        write(node, node.coldWriter, events("a", 5, 5));
        return node;
    }

    private void makeDead(List<EventEnvelope> events) {
        db.inTransaction(connection -> {
            try (var update = connection.prepareStatement(
                    "UPDATE outbox_event SET status = 3, done_at = created_at, last_error = 'boom' WHERE event_id = ?")) {
                for (EventEnvelope event : events) {
                    update.setString(1, event.eventId());
                    update.addBatch();
                }
                update.executeBatch();
            }
        });
    }

    private OutboxAdmin admin() {
        return new OutboxAdmin(db.dataSource()::getConnection, db.store());
    }

    private BlockedAggregate blocked() {
        List<BlockedAggregate> blocked = admin().blockedAggregates(10);
        assertThat(blocked).hasSize(1);
        return blocked.get(0);
    }

    private void replay(EventFilter filter) {
        AdminResult result = admin().replay(request(filter));
        assertThat(result.affected()).isPositive();
    }

    private static AdminRequest request(EventFilter filter) {
        return AdminRequest.builder()
                .filter(filter)
                .actor("test")
                .reason("test")
                .cap(10_000)
                .confirmed(true)
                .build();
    }

    private EventStatus statusOf(EventEnvelope event) {
        return db.row(event.eventId()).status();
    }

    private String error(EventEnvelope event) {
        return String.valueOf(db.row(event.eventId()).lastError());
    }
}
