package outbox.jdbc;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.order.Ordering;
import outbox.poller.OutboxPoller;
import outbox.relay.Relay;
import outbox.testing.contract.StoreFixture;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** Tests what the receiver sees when leadership moves while the leader has many events in progress. */
@Timeout(value = 60, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class LeaderMoveContract {

    private static final int MOVES = Integer.getInteger("outbox.trials.moves", 4);
    private static final int EVENTS = 60; // per move
    private static final List<String> AGGREGATES = List.of("a", "b", "c");
    private static final Duration TERM = Duration.ofMillis(100);
    private static final Duration POLL_INTERVAL = Duration.ofMillis(200);
    private static final Duration SOON = Duration.ofSeconds(30);

    private final Databases database;
    private final List<Integer> numbers = new CopyOnWriteArrayList<>(); // in delivery order
    private final List<String> eventIds = new ArrayList<>(); // in the order of writing
    private final OrderLog log = new OrderLog();
    private final Deque<AutoCloseable> open = new ArrayDeque<>();
    private int written;
    private StoreFixture db;
    private LeaderLocks locks;

    LeaderMoveContract(Databases database) {
        this.database = database;
    }

    @BeforeEach
    void createDatabase() {
        db = database.fixture();
        locks = new LeaderLocks(database, db);
    }

    @AfterEach
    void closeNodes() throws Exception {
        while (!open.isEmpty()) {
            open.pop().close();
        }
    }

    @Test
    void first_appearances_keep_their_order_each_time_the_leader_loses_its_session() {
        relay().start();
        relay().start();

        for (int move = 0; move < MOVES; move++) {
            int before = written;
            write(EVENTS);
            await().atMost(SOON).until(() -> numbers.contains(before + EVENTS / 6));
            await().atMost(SOON).until(locks::terminateIfAny);
            await().atMost(SOON).until(() -> numbers.contains(written) && db.count("status <> 1") == 0);
            assertFirstAppearancesInOrder();
        }
    }

    @Test
    void events_of_an_aggregate_keep_their_order_each_time_the_leader_loses_its_session() {
        log.behaviour = event -> pauseBriefly();
        orderedNode();
        orderedNode();

        for (int move = 0; move < MOVES; move++) {
            int before = written;
            int target = before + 4;
            writeOrdered(20);
            await().atMost(SOON).until(() -> log.started("a").contains(target));
            await().atMost(SOON).until(locks::terminateIfAny);
            await().atMost(SOON).until(() -> db.count("status <> 1") == 0);
        }

        for (String aggregate : AGGREGATES) {
            assertThat(log.started(aggregate).stream().distinct())
                    .containsExactlyElementsOf(
                            IntStream.rangeClosed(1, written).boxed().toList());
        }
    }

    @Test
    void a_new_leader_waits_for_rows_that_the_leader_before_it_is_releasing() throws SQLException {
        write(10);
        Relay leader = relay();
        try (Connection releasing = db.open()) {
            lock(releasing, 3);

            pollUntil(leader, leader::isActive);
            leader.poll();
            assertThat(numbers).isEmpty();
            releasing.commit();
        }
        pollUntil(leader, () -> numbers.size() == 10);

        assertFirstAppearancesInOrder();
    }

    @Test
    void a_lock_that_stays_holds_up_a_new_leader_only_for_a_while() throws SQLException {
        write(10);
        Relay leader = relay();
        try (Connection forgotten = db.open()) {
            lock(forgotten, 1);

            pollUntil(leader, () -> numbers.size() == 9);
            assertThat(numbers).doesNotContain(1);
            forgotten.rollback();
        }
        pollUntil(leader, () -> numbers.contains(1));
    }

    @Test
    void an_event_whose_predecessor_is_locked_is_not_claimed_in_order() throws SQLException {
        writeOrdered(5);
        orderedNode();
        try (Connection releasing = db.open()) {
            lock(releasing, 1);

            await().atMost(SOON)
                    .until(() ->
                            log.succeeded("b").size() == 5 && log.succeeded("c").size() == 5);
            assertThat(log.started("a")).isEmpty();
            releasing.commit();
        }
        await().atMost(SOON).until(() -> log.succeeded("a").size() == 5);

        assertThat(log.started("a")).containsExactly(1, 2, 3, 4, 5);
    }

    /** Locks only the first events, as a release does before its commit. */
    private void lock(Connection connection, int events) throws SQLException {
        String sql = "SELECT event_id FROM outbox_event WHERE event_id = ? FOR UPDATE";
        try (PreparedStatement select = connection.prepareStatement(sql)) {
            for (String eventId : eventIds.subList(0, events)) {
                select.setString(1, eventId);
                select.executeQuery();
            }
        }
    }

    private void write(int events) {
        for (int i = 0; i < events; i++) {
            int number = ++written;
            insert(List.of(OrderLog.event(Integer.toString(number), number)));
        }
    }

    private void writeOrdered(int events) {
        for (int i = 0; i < events; i++) {
            int number = ++written;
            insert(AGGREGATES.stream()
                    .map(aggregate -> OrderLog.event(aggregate, number))
                    .toList());
        }
    }

    private void insert(List<EventEnvelope> events) {
        db.insert(events);
        events.forEach(event -> eventIds.add(event.eventId()));
    }

    private void assertFirstAppearancesInOrder() {
        assertThat(numbers.stream().distinct())
                .containsExactlyElementsOf(
                        IntStream.rangeClosed(1, written).boxed().toList());
    }

    private Relay relay() {
        Relay relay = Relay.builder()
                .connectionProvider(db.dataSource()::getConnection)
                .eventStore(database.store())
                .table(db.table())
                .leadership(JdbcLeadership.of(db.dataSource(), db.table(), TERM))
                .pollInterval(POLL_INTERVAL)
                .listener(this::deliver)
                .build();
        open.push(relay);
        return relay;
    }

    private void deliver(EventEnvelope event) throws InterruptedException {
        numbers.add(OrderLog.number(event));
        pauseBriefly();
    }

    private static void pauseBriefly() throws InterruptedException {
        // so that events are in progress when leadership moves
        new CountDownLatch(1).await(2, TimeUnit.MILLISECONDS);
    }

    private void orderedNode() {
        JdbcLeadership leadership = JdbcLeadership.of(db.dataSource(), db.table(), TERM);
        OutboxDispatcher dispatcher = OutboxDispatcher.builder()
                .connectionProvider(db.dataSource()::getConnection)
                .eventStore(database.store())
                .listenerRegistry((aggregateType, type) -> log)
                .ordering(Ordering.perAggregate())
                .leadership(leadership)
                .build();
        OutboxPoller poller = OutboxPoller.builder()
                .connectionProvider(db.dataSource()::getConnection)
                .eventStore(database.store())
                .handler(new DispatcherPollerHandler(dispatcher))
                .intervalMs(POLL_INTERVAL.toMillis())
                .build();
        open.push(leadership);
        open.push(dispatcher);
        open.push(poller);
        poller.start();
    }

    private static void pollUntil(Relay relay, BooleanSupplier condition) {
        await().atMost(SOON).until(() -> {
            relay.poll();
            return condition.getAsBoolean();
        });
    }
}
