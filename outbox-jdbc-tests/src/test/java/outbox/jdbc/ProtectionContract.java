package outbox.jdbc;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.RetryLaterException;
import outbox.admin.OutboxAdmin;
import outbox.admin.Pause;
import outbox.admin.PauseRequest;
import outbox.dispatch.CircuitBreaker;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.Protection;
import outbox.dispatch.Protection.Limit;
import outbox.dispatch.RetryPolicy;
import outbox.model.EventStatus;
import outbox.order.Ordering;
import outbox.testing.contract.StoreFixture;
import outbox.testing.contract.StoreFixture.Row;
import outbox.testing.fault.FaultyDataSource;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** Pauses, breakers and limits on several nodes, with real stores. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class ProtectionContract {

    private static final Row UNTOUCHED = new Row(EventStatus.NEW, 0, null, null);
    private static final Duration SECONDS = Duration.ofSeconds(30);

    /** Counts the events that pollers bring. */
    private static final class Brought extends Node.Counts {
        final AtomicInteger cold = new AtomicInteger();

        @Override
        public void incrementColdEnqueued() {
            cold.incrementAndGet();
        }
    }

    private final Databases database;
    private final List<Node> nodes = new ArrayList<>();
    private StoreFixture db;
    private OutboxAdmin admin;

    @SuppressWarnings("NullAway.Init") // before each test
    ProtectionContract(Databases database) {
        this.database = database;
    }

    @BeforeEach
    void createDatabase() {
        db = database.fixture();
        OutboxSchema.create(db.dataSource(), database.store(), Capability.PAUSES);
        admin = new OutboxAdmin(db.dataSource()::getConnection, database.store());
    }

    @AfterEach
    void closeNodes() {
        nodes.forEach(Node::close);
    }

    // ---- pauses ----

    @Test
    void a_paused_type_waits_in_the_table_on_all_nodes_and_goes_on_within_seconds_of_its_resumption() {
        Brought brought = new Brought();
        Node one = node(event -> {}, dispatcher -> dispatcher.metrics(brought));
        Node two = node(event -> {}, dispatcher -> dispatcher.metrics(brought));
        pause(PauseRequest.type("Paid"));
        awaitPaused(one);
        awaitPaused(two);
        List<EventEnvelope> paused = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            paused.add(one.write(one.writer, event("Paid"))); // on the hot path
            paused.add(two.write(two.coldWriter, event("Paid")));
        }
        List<EventEnvelope> others = IntStream.range(0, 100)
                .mapToObj(i -> one.write(one.writer, event("Sent")))
                .toList();

        awaitDone(others);
        await().atMost(SECONDS).untilAsserted(() -> assertRows(paused, UNTOUCHED));
        int before = brought.cold.get();
        EventEnvelope late = two.write(two.coldWriter, event("Sent"));
        awaitDone(List.of(late)); // pollers have run in the meantime
        assertThat(brought.cold.get() - before)
                .as("what is paused is not claimed again and again")
                .isEqualTo(1);

        long start = System.nanoTime();
        resume(PauseRequest.type("Paid"));
        awaitDone(paused);
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(8));
        assertThat(one.deliveredIds()).doesNotHaveDuplicates();
    }

    @Test
    void a_pause_survives_a_restart() {
        pause(PauseRequest.type("Paid"));
        Node former = node(event -> {}, dispatcher -> {});
        EventEnvelope waits = former.write(former.writer, event("Paid"));
        former.close();

        Node restarted = node(event -> {}, dispatcher -> {});
        EventEnvelope other = restarted.write(restarted.coldWriter, event("Sent"));

        awaitDone(List.of(other));
        assertThat(restarted.deliveredIds()).containsExactly(other.eventId());
        assertThat(db.row(waits.eventId())).isEqualTo(UNTOUCHED);
    }

    @Test
    void a_node_that_cannot_read_what_is_paused_starts_nothing_until_it_can() {
        pause(PauseRequest.type("Paid"));
        FaultyDataSource faulty = new FaultyDataSource(db.dataSource());
        faulty.rewriteSql(sql -> sql.replace("outbox_pause", "outbox_pause_that_is_away"));
        Node node = new Node(faulty, db.store());
        nodes.add(node);
        node.poller.start();

        EventEnvelope paused = node.write(node.writer, event("Paid"));
        EventEnvelope hot = node.write(node.writer, event("Sent"));
        EventEnvelope cold = node.write(node.coldWriter, event("Sent"));

        assertRows(List.of(paused, hot, cold), UNTOUCHED);
        assertThat(node.delivered).isEmpty();
        faulty.heal();
        awaitDone(List.of(hot, cold));
        assertThat(node.deliveredIds()).containsExactlyInAnyOrder(hot.eventId(), cold.eventId());
        assertThat(db.row(paused.eventId())).isEqualTo(UNTOUCHED);
    }

    @Test
    void a_pause_that_was_written_by_hand_counts_and_one_that_cannot_be_read_stops_no_other() {
        db.inTransaction(connection -> {
            for (String row : List.of("'type', 'Paid'", "'TYP', 'Sent'", "'OUTBOX', 'Sent'", "'Listener', 'crm'")) {
                try (var insert = connection.prepareStatement(
                        "INSERT INTO outbox_pause (outbox_table, scope, name, paused_at, paused_by, reason) VALUES ('outbox_event', "
                                + row + ", CURRENT_TIMESTAMP, 'ada', 'by hand')")) {
                    insert.executeUpdate();
                }
            }
        });
        Node node = node(event -> {}, dispatcher -> {});

        EventEnvelope paused = node.write(node.coldWriter, event("Paid"));
        EventEnvelope other = node.write(node.coldWriter, event("Sent"));

        awaitDone(List.of(other));
        assertThat(db.row(paused.eventId())).isEqualTo(UNTOUCHED);
        assertThat(admin.pauses()).extracting(Pause::name).containsExactlyInAnyOrder("Paid", "crm");
        resume(PauseRequest.type("Paid"));
        awaitDone(List.of(paused));
    }

    @Test
    void a_paused_listener_is_known_by_its_name_whatever_it_receives() {
        record Crm(Node node) implements EventListener {
            @Override
            public void onEvent(EventEnvelope event) {
                node.delivered.add(event);
            }

            @Override
            public String listenerName() {
                return "crm";
            }
        }
        Node[] self = new Node[1];
        Node node = new Node(
                db.dataSource(),
                db.store(),
                dispatcher -> dispatcher.listenerRegistry((aggregateType, eventType) ->
                        eventType.startsWith("Crm") ? new Crm(self[0]) : event -> self[0].delivered.add(event)),
                poller -> {});
        self[0] = node;
        nodes.add(node);
        node.poller.start();
        pause(PauseRequest.listener("crm"));
        awaitPaused(node);

        List<EventEnvelope> paused = List.of(
                node.write(node.writer, event("CrmA")),
                node.write(node.coldWriter, event("CrmA")),
                node.write(node.coldWriter, event("CrmB")));
        EventEnvelope other = node.write(node.coldWriter, event("Sent"));

        awaitDone(List.of(other));
        await().atMost(SECONDS).untilAsserted(() -> assertRows(paused, UNTOUCHED));
        resume(PauseRequest.listener("crm"));
        awaitDone(paused);
    }

    @Test
    void a_pause_of_the_whole_outbox_stops_everything() {
        Node node = node(event -> {}, dispatcher -> {});
        pause(PauseRequest.outbox());
        awaitPaused(node);

        List<EventEnvelope> events = IntStream.range(0, 10)
                .mapToObj(i -> node.write(i % 2 == 0 ? node.writer : node.coldWriter, event("T" + i)))
                .toList();

        assertRows(events, UNTOUCHED); // they are inserted without a lease
        resume(PauseRequest.outbox());
        awaitDone(events);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void a_paused_event_holds_back_what_was_written_after_it_in_its_aggregate(boolean hot) {
        Node node = node(event -> {}, dispatcher -> dispatcher.ordering(Ordering.perAggregate()));
        pause(PauseRequest.type("Paid"));
        awaitPaused(node);
        EventEnvelope head = node.write(hot ? node.writer : node.coldWriter, ordered("1", "Paid"));
        EventEnvelope behind = node.write(hot ? node.writer : node.coldWriter, ordered("1", "Sent"));

        EventEnvelope elsewhere = node.write(node.writer, ordered("2", "Sent"));

        awaitDone(List.of(elsewhere));
        assertThat(node.deliveredIds()).containsExactly(elsewhere.eventId());
        resume(PauseRequest.type("Paid"));
        awaitDone(List.of(head, behind));
        assertThat(node.deliveredIds()).containsExactly(elsewhere.eventId(), head.eventId(), behind.eventId());
    }

    // ---- breakers ----

    @Test
    void a_destination_that_is_down_costs_no_more_attempts_than_it_took_to_notice_and_comes_back_gently() {
        Destination crm = new Destination();
        Node one = node(
                crm, dispatcher -> dispatcher.workerCount(16).maxAttempts(2).protection(guarded()));
        Node two = node(
                crm, dispatcher -> dispatcher.workerCount(16).maxAttempts(2).protection(guarded()));
        crm.down = true;
        List<EventEnvelope> events = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            Node node = i % 2 == 0 ? one : two;
            events.add(node.write(i % 4 < 2 ? node.writer : node.coldWriter, event("Crm")));
        }
        await().atMost(SECONDS).until(() -> isOpen(one) && isOpen(two));
        List<EventEnvelope> others = IntStream.range(0, 300)
                .mapToObj(i -> one.write(one.writer, event("Sent")))
                .toList();
        awaitDone(others);
        int callsBefore = crm.calls.get();
        // stays down for a while
        await().pollDelay(Duration.ofSeconds(3)).atMost(SECONDS).until(() -> true);
        assertThat(crm.calls.get() - callsBefore).as("a probe now and then").isLessThan(40);
        assertThat(db.count("status = 3")).isZero();
        assertThat(db.count("attempts > 1")).isZero();
        assertThat(db.count("attempts = 1 AND event_type = 'Crm'"))
                .as("the calls that opened two breakers, and those that ran beside them")
                .isLessThan(2 * (4 + 16));

        crm.mostInside.set(0);
        crm.down = false;
        long start = System.nanoTime();
        awaitDone(events);

        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(15));
        assertThat(crm.firstCalls)
                .as("with how many beside it each of the first calls began")
                .allMatch(beside -> beside <= 4);
        assertThat(one.counts.dead.get() + two.counts.dead.get()).isZero();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void an_open_breaker_holds_back_the_aggregate_of_what_it_withholds(boolean hot) {
        CircuitBreaker breaker =
                CircuitBreaker.named("crm").wait(Duration.ofSeconds(2)).build();
        Node node = node(
                event -> {},
                dispatcher -> dispatcher
                        .ordering(Ordering.perAggregate())
                        .protection(Protection.builder()
                                .breakerForListener("Order:Crm", breaker)
                                .build()));
        breaker.open("down");
        EventEnvelope head = node.write(hot ? node.writer : node.coldWriter, ordered("1", "Crm"));
        EventEnvelope behind = node.write(hot ? node.writer : node.coldWriter, ordered("1", "Sent"));

        EventEnvelope elsewhere = node.write(node.writer, ordered("2", "Sent"));

        awaitDone(List.of(elsewhere));
        awaitDone(List.of(head, behind));
        assertThat(node.deliveredIds()).containsExactly(elsewhere.eventId(), head.eventId(), behind.eventId());
    }

    @Test
    void a_limit_leaves_the_rest_in_the_table_and_loses_nothing() {
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        Brought brought = new Brought();
        Protection limited = Protection.builder()
                .limitType("Slow", Limit.rate(200, Duration.ofSeconds(1), 10).andConcurrency(2))
                .build();
        Node node = node(
                event -> {
                    if (event.eventType().equals("Slow")) {
                        most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                        inside.decrementAndGet();
                    }
                },
                dispatcher -> dispatcher.protection(limited).metrics(brought));
        List<EventEnvelope> slow = IntStream.range(0, 400)
                .mapToObj(i -> node.write(i % 2 == 0 ? node.writer : node.coldWriter, event("Slow")))
                .toList();
        List<EventEnvelope> others = IntStream.range(0, 100)
                .mapToObj(i -> node.write(node.coldWriter, event("Sent")))
                .toList();

        awaitDone(others);
        awaitDone(slow);

        assertThat(most.get()).isLessThanOrEqualTo(2);
        assertThat(brought.cold.get()).as("hardly anything is claimed in vain").isLessThan(1000);
        assertThat(node.deliveredIds()).hasSize(500).doesNotHaveDuplicates();
    }

    // ---- results and exceptions of the listener ----

    @Test
    void a_wait_that_is_not_counted_leaves_the_attempts_as_they_were() {
        Node node = node(
                event -> {
                    throw new RetryLaterException(Duration.ofHours(1), "busy");
                },
                dispatcher -> dispatcher.maxAttempts(1));

        EventEnvelope event = node.write(node.writer, event("T"));

        await().atMost(SECONDS)
                .untilAsserted(
                        () -> assertThat(db.row(event.eventId()).status()).isEqualTo(EventStatus.RETRY));
        assertThat(db.row(event.eventId()).attempts()).isZero();
        assertThat(db.row(event.eventId()).lastError()).contains("busy");
    }

    /** A destination of events that may be down. */
    private static final class Destination implements EventListener {
        final AtomicInteger calls = new AtomicInteger();
        final AtomicInteger inside = new AtomicInteger();
        final AtomicInteger mostInside = new AtomicInteger();
        // guarded by itself; concurrency of the first calls after the destination is up again
        final List<Integer> firstCalls = new ArrayList<>();
        volatile boolean down;

        @Override
        public void onEvent(EventEnvelope event) throws Exception {
            if (!event.eventType().equals("Crm")) {
                return;
            }
            calls.incrementAndGet();
            int beside = inside.incrementAndGet();
            try {
                if (down) {
                    throw new IOException("connection refused");
                }
                mostInside.accumulateAndGet(beside, Math::max);
                synchronized (firstCalls) {
                    if (firstCalls.size() < 3) {
                        firstCalls.add(beside);
                    }
                }
            } finally {
                inside.decrementAndGet();
            }
        }
    }

    private static Protection guarded() {
        return Protection.builder()
                .breakerForType(
                        "Crm",
                        CircuitBreaker.named("crm")
                                .minimumCalls(4)
                                .wait(Duration.ofMillis(500))
                                .build())
                .build();
    }

    private boolean isOpen(Node node) {
        return node.dispatcher.protectionStatus().breakers().stream()
                .anyMatch(breaker -> breaker.state() == CircuitBreaker.State.OPEN);
    }

    private Node node(EventListener listener, Consumer<OutboxDispatcher.Builder> settings) {
        Node node = new Node(
                db.dataSource(),
                db.store(),
                settings.andThen(dispatcher -> dispatcher.retryPolicy(RetryPolicy.fixed(Duration.ofSeconds(1)))),
                poller -> {});
        node.listener = listener;
        nodes.add(node);
        node.poller.start();
        return node;
    }

    private void pause(PauseRequest.Builder what) {
        admin.pause(what.actor("ada").reason("ticket 17").confirmed(true).build());
    }

    private void resume(PauseRequest.Builder what) {
        admin.resume(what.actor("ada").reason("ticket 17").confirmed(true).build());
    }

    private static void awaitPaused(Node node) {
        await().atMost(SECONDS)
                .until(() -> !node.dispatcher.protectionStatus().pauses().isEmpty());
    }

    private static EventEnvelope event(String type) {
        return EventEnvelope.ofJson(type, "{}");
    }

    private static EventEnvelope ordered(String aggregateId, String type) {
        return EventEnvelope.builder(type)
                .aggregateType("Order")
                .aggregateId(aggregateId)
                .payloadJson("{}")
                .build();
    }

    private void awaitDone(List<EventEnvelope> events) {
        await().atMost(SECONDS)
                .untilAsserted(() -> assertThat(events)
                        .allSatisfy(event ->
                                assertThat(db.row(event.eventId()).status()).isEqualTo(EventStatus.DONE)));
    }

    private void assertRows(List<EventEnvelope> events, Row expected) {
        assertThat(events)
                .allSatisfy(event -> assertThat(db.row(event.eventId())).isEqualTo(expected));
    }
}
