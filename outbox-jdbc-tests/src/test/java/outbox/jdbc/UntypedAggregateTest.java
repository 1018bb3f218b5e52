package outbox.jdbc;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.AggregateType;
import outbox.EventEnvelope;
import outbox.admin.EventFilter;
import outbox.admin.EventQuery;
import outbox.admin.EventSummary;
import outbox.model.EventStatus;
import outbox.order.Ordering;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.ClaimedEvent;
import outbox.spi.EventOrder.BlockedAggregate;
import outbox.spi.EventOrder.Position;
import outbox.testing.contract.StoreFixture;

import java.sql.PreparedStatement;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * A row without an aggregate type, as other programs write it, belongs to the aggregate type
 * {@link AggregateType#GLOBAL}. It shares one order with the events that name this type.
 */
@Timeout(120)
@Tag("mariadb")
@Tag("mysql")
class UntypedAggregateTest {

    private static final String GLOBAL = AggregateType.GLOBAL.name();
    private static final Ordering ALL = Ordering.perAggregate();

    private int claims;

    @ParameterizedTest
    @EnumSource(value = Databases.class, mode = EnumSource.Mode.EXCLUDE, names = "H2_AS_MYSQL")
    void events_are_claimed_one_after_the_other_whether_their_rows_name_the_type_or_not(Databases database) {
        StoreFixture db = database.fixture();
        EventEnvelope first = givenUntyped(db, "a");
        EventEnvelope second = given(db, "a");
        EventEnvelope third = givenUntyped(db, "a");
        EventEnvelope fourth = givenUntyped(db, "a");
        EventEnvelope other = givenUntyped(db, "b");
        EventEnvelope free = givenUntyped(db, null);
        EventEnvelope freeToo = givenUntyped(db, null);
        givenOrder(db, "a"); // another aggregate with the same id

        assertThat(claimed(db)).contains(first.eventId(), other.eventId(), free.eventId(), freeToo.eventId());
        assertThat(claimed(db)).isEmpty();
        for (EventEnvelope[] step : new EventEnvelope[][] {{first, second}, {second, third}, {third, fourth}}) {
            mark(db, step[0], EventStatus.DONE);

            assertThat(claimed(db)).containsExactly(step[1].eventId());
        }
    }

    @ParameterizedTest
    @EnumSource(value = Databases.class, mode = EnumSource.Mode.EXCLUDE, names = "H2_AS_MYSQL")
    void a_place_counts_events_of_both_kinds_before_it(Databases database) {
        StoreFixture db = database.fixture();
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();
        EventEnvelope dead = given(db, "a");
        mark(db, dead, EventStatus.DEAD);
        EventEnvelope named = given(db, "a");
        EventEnvelope untyped = givenUntyped(db, "a");
        EventEnvelope last = given(db, "a");
        EventEnvelope lastUntyped = givenUntyped(db, "a");
        List<String> ids =
                List.of(dead.eventId(), named.eventId(), untyped.eventId(), last.eventId(), lastUntyped.eventId());

        Map<String, Position> positions = db.call(connection -> store.positions(connection, ids, ALL));

        for (int i = 2; i < ids.size(); i++) {
            Position position = at(positions, ids.get(i));
            assertThat(position.unfinishedBefore())
                    .isEqualTo(at(positions, ids.get(i - 1)).number());
            assertThat(position.deadBefore())
                    .isEqualTo(at(positions, ids.get(0)).number());
        }
        assertThat(at(positions, named.eventId()).unfinishedBefore()).isZero();
    }

    @ParameterizedTest
    @EnumSource(value = Databases.class, mode = EnumSource.Mode.EXCLUDE, names = "H2_AS_MYSQL")
    void a_dead_row_without_a_type_blocks_what_follows_and_the_operator_sees_one_aggregate(Databases database) {
        StoreFixture db = database.fixture();
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();
        EventEnvelope head = givenUntyped(db, "a");
        EventEnvelope deadToo = given(db, "a");
        mark(db, head, EventStatus.DEAD);
        mark(db, deadToo, EventStatus.DEAD);
        given(db, "a");
        givenUntyped(db, "a");
        EventEnvelope withoutOrder = givenUntyped(db, null);
        mark(db, withoutOrder, EventStatus.DEAD);

        List<BlockedAggregate> blocked = db.call(connection -> store.blockedAggregates(connection, 10));

        assertThat(claimed(db)).isEmpty();
        assertThat(blocked).hasSize(1);
        BlockedAggregate only = blocked.get(0);
        assertThat(only.aggregateType()).isEqualTo(GLOBAL);
        assertThat(only.eventId()).isEqualTo(head.eventId());
        assertThat(only.waiting()).isEqualTo(2);
        assertThat(only.alsoDead()).isEqualTo(1);
        assertThat(only.oldestWaiting()).isNotNull();
        EventFilter filter =
                EventFilter.builder().aggregateType(GLOBAL).aggregateId("a").build();
        List<EventSummary> found = db.call(connection -> store.find(connection, EventQuery.of(filter)));
        assertThat(found).extracting(EventSummary::eventId).hasSize(4).contains(head.eventId(), deadToo.eventId());
    }

    @ParameterizedTest
    @EnumSource(
            value = Databases.class,
            names = {"POSTGRES", "MARIADB", "MYSQL"})
    void workers_of_two_nodes_deliver_them_in_order_through_failures(Databases database) {
        StoreFixture db = database.fixture();
        OrderLog log = new OrderLog();
        List<EventEnvelope> events = new ArrayList<>();
        for (int number = 1; number <= 12; number++) {
            for (String id : List.of("a", "b", "c")) {
                EventEnvelope event = EventEnvelope.builder("T")
                        .aggregateId(id)
                        .payloadJson(Integer.toString(number))
                        .build();
                insert(db, event, number % 3 != 0);
                events.add(event);
            }
        }
        log.behaviour = event -> {
            if (OrderLog.number(event) % 4 == 0
                    && log.started(OrderLog.aggregate(event)).size() % 2 == 0) {
                throw new IllegalStateException("fails now and then");
            }
        };

        try (Node one = node(db, log);
                Node two = node(db, log)) {
            one.poller.start();
            two.poller.start();

            await().atMost(60, TimeUnit.SECONDS).until(() -> db.count("status = 1") == events.size());
        }
        log.assertInOrder();
    }

    private static Node node(StoreFixture db, OrderLog log) {
        Node node = new Node(
                db.dataSource(),
                db.store(),
                dispatcher -> dispatcher.ordering(ALL).workerCount(4).retryPolicy(attempts -> 1),
                poller -> poller.intervalMs(20));
        node.listener = log;
        return node;
    }

    private static Position at(Map<String, Position> positions, String id) {
        return Objects.requireNonNull(positions.get(id));
    }

    private static EventEnvelope given(StoreFixture db, String aggregateId) {
        EventEnvelope event = EventEnvelope.builder("T")
                .aggregateId(aggregateId)
                .payloadJson("{}")
                .build();
        insert(db, event, false);
        return event;
    }

    private static void givenOrder(StoreFixture db, String aggregateId) {
        db.insert(OrderLog.event(aggregateId, 1));
    }

    private static EventEnvelope givenUntyped(StoreFixture db, @Nullable String aggregateId) {
        EventEnvelope.Builder builder = EventEnvelope.builder("T").payloadJson("{}");
        if (aggregateId != null) {
            builder.aggregateId(aggregateId);
        }
        EventEnvelope event = builder.build();
        insert(db, event, true);
        return event;
    }

    /** Writes a row without an aggregate type, as other programs do. */
    private static void insert(StoreFixture db, EventEnvelope event, boolean untyped) {
        db.inTransaction(connection -> {
            db.store().insertNew(connection, event);
            if (untyped) {
                try (PreparedStatement update = connection.prepareStatement(
                        "UPDATE outbox_event SET aggregate_type = NULL WHERE event_id = ?")) {
                    update.setString(1, event.eventId());
                    update.executeUpdate();
                }
            }
        });
    }

    private static void mark(StoreFixture db, EventEnvelope event, EventStatus status) {
        db.inTransaction(connection -> {
            try (PreparedStatement update = connection.prepareStatement("""
                    UPDATE outbox_event
                       SET status = ?, done_at = created_at, locked_by = NULL, locked_at = NULL
                     WHERE event_id = ?
                    """)) {
                update.setInt(1, status.code());
                update.setString(2, event.eventId());
                update.executeUpdate();
            }
        });
    }

    private List<String> claimed(StoreFixture db) {
        AbstractJdbcEventStore store = (AbstractJdbcEventStore) db.store();
        Claim claim = new Claim("claim/" + ++claims, Long.MAX_VALUE);
        return db.call(connection -> {
            Instant now = store.now(connection);
            return store
                    .claim(
                            connection,
                            claim,
                            ClaimRequest.of(now, now.minusSeconds(60), 50).inOrder(ALL))
                    .stream()
                    .map(ClaimedEvent::event)
                    .map(event -> event.eventId())
                    .toList();
        });
    }
}
