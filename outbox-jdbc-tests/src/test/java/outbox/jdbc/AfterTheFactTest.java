package outbox.jdbc;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.EventEnvelope;
import outbox.EventHeaders;
import outbox.admin.AdminRequest;
import outbox.admin.AdminResult;
import outbox.admin.EventDetails.Attempt;
import outbox.admin.EventFilter;
import outbox.admin.OutboxAdmin;
import outbox.dispatch.OutboxDispatcher;
import outbox.model.EventStatus;
import outbox.order.Ordering;
import outbox.purge.OutboxPurge;
import outbox.registry.DefaultListenerRegistry;
import outbox.testing.contract.StoreFixture;
import outbox.testing.fault.FaultyDataSource;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** Tests on real stores for actions after a delivery: history, unknown types, replay. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("mariadb")
@Tag("mysql")
class AfterTheFactTest {

    private static final Duration SECONDS = Duration.ofSeconds(30);

    private final List<Node> nodes = new ArrayList<>();

    @AfterEach
    void closeNodes() {
        nodes.forEach(Node::close);
    }

    // ---- history ----

    @ParameterizedTest
    @EnumSource(value = Databases.class, mode = EnumSource.Mode.EXCLUDE, names = "H2_AS_MYSQL")
    void failures_and_the_success_after_them_are_kept_and_a_success_at_once_is_not(Databases database) {
        StoreFixture db = database.fixture();
        OutboxSchema.create(db.dataSource(), database.store(), Capability.ATTEMPTS);
        AtomicInteger calls = new AtomicInteger();
        Node node = node(db, dispatcher -> dispatcher.ownerId("node-7"));
        node.listener = event -> {
            if (event.eventType().equals("shaky") && calls.incrementAndGet() < 3) {
                throw new IOException("boom " + calls.get());
            }
        };

        EventEnvelope shaky = node.write(node.writer, EventEnvelope.ofJson("shaky", "{}"));
        EventEnvelope plain = node.write(node.writer, EventEnvelope.ofJson("plain", "{}"));

        awaitDone(db, List.of(shaky, plain));
        OutboxAdmin admin = new OutboxAdmin(db.dataSource()::getConnection, db.store());
        List<Attempt> history = admin.find(shaky.eventId()).orElseThrow().history();
        assertThat(history).extracting(Attempt::number).containsExactly(1, 2, 3);
        assertThat(history).extracting(Attempt::node).containsOnly("node-7");
        assertThat(history.get(0).error()).contains("IOException", "boom 1");
        assertThat(history.get(2).error()).isNull();
        assertThat(history)
                .allSatisfy(attempt ->
                        assertThat(attempt.startedAt()).isBetween(db.now().minusSeconds(60), db.now()));
        assertThat(admin.find(plain.eventId()).orElseThrow().history()).isEmpty();
    }

    @ParameterizedTest
    @EnumSource(value = Databases.class, mode = EnumSource.Mode.EXCLUDE, names = "H2_AS_MYSQL")
    void outcomes_are_written_though_the_history_is_dropped_or_its_table_is_another(Databases database)
            throws Exception {
        StoreFixture db = database.fixture();
        OutboxSchema.create(db.dataSource(), database.store(), Capability.ATTEMPTS);
        AtomicInteger calls = new AtomicInteger();
        Node node = node(db, dispatcher -> {});
        node.listener = event -> {
            if (calls.incrementAndGet() % 2 == 1) {
                throw new IOException("boom");
            }
        };
        awaitDone(db, List.of(node.write(node.writer, EventEnvelope.ofJson("T", "{}"))));

        db.inTransaction(connection -> {
            try (var statement = connection.createStatement()) {
                statement.execute("DROP TABLE outbox_attempt");
                statement.execute("CREATE TABLE outbox_attempt (id INT)");
            }
        });

        awaitDone(db, List.of(node.write(node.writer, EventEnvelope.ofJson("T", "{}"))));
        assertThat(node.counts.dead).hasValue(0);
    }

    @ParameterizedTest
    @EnumSource(value = Databases.class, mode = EnumSource.Mode.EXCLUDE, names = "H2_AS_MYSQL")
    void a_purge_looks_at_the_history_once_and_purges_events_though_that_fails(Databases database) {
        StoreFixture db = database.fixture();
        OutboxSchema.create(db.dataSource(), database.store(), Capability.ATTEMPTS);
        FaultyDataSource counted = new FaultyDataSource(db.dataSource());
        AtomicInteger looks = new AtomicInteger();
        counted.rewriteSql(sql -> {
            looks.addAndGet(sql.contains("NOT EXISTS") && sql.contains("outbox_attempt") ? 1 : 0);
            return sql;
        });
        List<EventEnvelope> first = givenDone(db, 25);
        assertThat(purge(db, counted).done()).isEqualTo(first.size());
        assertThat(looks).hasValue(1);

        List<EventEnvelope> second = givenDone(db, 25);
        counted.rewriteSql(sql -> sql.replace("outbox_attempt", "outbox_attempt_that_is_away"));
        assertThat(purge(db, counted).done()).isEqualTo(second.size());
    }

    private static List<EventEnvelope> givenDone(StoreFixture db, int count) {
        List<EventEnvelope> events = IntStream.range(0, count)
                .mapToObj(i -> EventEnvelope.ofJson("T", "{}"))
                .toList();
        db.insert(events);
        db.inTransaction(connection -> events.forEach(event -> db.store().markDone(connection, event.eventId())));
        return events;
    }

    private static OutboxPurge.Result purge(StoreFixture db, FaultyDataSource dataSource) {
        return OutboxPurge.builder()
                .connectionProvider(dataSource::getConnection)
                .eventStore(db.store())
                .retention(Duration.ZERO)
                .batchSize(10)
                .build()
                .purge();
    }

    // ---- unknown types ----

    @ParameterizedTest
    @EnumSource(value = Databases.class, mode = EnumSource.Mode.EXCLUDE, names = "H2_AS_MYSQL")
    void each_node_takes_what_it_knows_and_what_no_node_knows_is_dead_in_time(Databases database) {
        StoreFixture db = database.fixture();
        Duration limit = Duration.ofSeconds(3);
        List<String> received = new CopyOnWriteArrayList<>();
        AtomicInteger brought = new AtomicInteger();
        Node older = node(
                db,
                dispatcher -> dispatcher
                        .listenerRegistry(new DefaultListenerRegistry()
                                .register("old", event -> received.add("older " + event.eventType())))
                        .metrics(new Brought(brought))
                        .takeOnlyKnown(limit));
        Node newer = node(
                db,
                dispatcher -> dispatcher
                        .listenerRegistry(new DefaultListenerRegistry()
                                .register("new", event -> received.add("newer " + event.eventType())))
                        .metrics(new Brought(brought))
                        .takeOnlyKnown(limit));

        List<EventEnvelope> known = new ArrayList<>();
        for (Node node : List.of(older, newer)) {
            known.add(node.write(node.writer, EventEnvelope.ofJson("old", "{}")));
            known.add(node.write(node.writer, EventEnvelope.ofJson("new", "{}")));
        }
        EventEnvelope unknown = older.write(older.writer, EventEnvelope.ofJson("unheard", "{}"));

        awaitDone(db, known);
        assertThat(received).containsExactlyInAnyOrder("older old", "older old", "newer new", "newer new");
        await().atMost(SECONDS)
                .untilAsserted(
                        () -> assertThat(db.row(unknown.eventId()).status()).isEqualTo(EventStatus.DEAD));
        assertThat(db.row(unknown.eventId()).attempts()).isZero();
        assertThat(db.row(unknown.eventId()).lastError()).contains("No node took this event within PT3S");
        assertThat(brought).as("nothing is claimed again and again").hasValueLessThanOrEqualTo(4);
    }

    /** Counts the events that pollers bring. */
    private static final class Brought extends Node.Counts {
        private final AtomicInteger cold;

        Brought(AtomicInteger cold) {
            this.cold = cold;
        }

        @Override
        public void incrementColdEnqueued() {
            cold.incrementAndGet();
        }
    }

    // ---- replay ----

    @ParameterizedTest
    @EnumSource(value = Databases.class, mode = EnumSource.Mode.EXCLUDE, names = "H2_AS_MYSQL")
    void delivered_events_of_an_aggregate_are_replayed_in_their_order_and_marked(Databases database) {
        StoreFixture db = database.fixture();
        Node node = node(db, dispatcher -> dispatcher.ordering(Ordering.perAggregate()));
        List<EventEnvelope> events = IntStream.range(0, 12)
                .mapToObj(i -> node.write(
                        node.writer,
                        EventEnvelope.builder("T")
                                .aggregateId("a-" + i % 2)
                                .payloadJson("{}")
                                .build()))
                .toList();
        awaitDone(db, events);
        node.delivered.clear();

        AdminResult result = new OutboxAdmin(db.dataSource()::getConnection, db.store())
                .replay(AdminRequest.builder()
                        .filter(EventFilter.builder().status(EventStatus.DONE).build())
                        .actor("operator")
                        .reason("test")
                        .requestId("r1")
                        .eventsPerSecond(50)
                        .confirmed(true)
                        .build());

        assertThat(result.affected()).isEqualTo(12);
        await().atMost(SECONDS).untilAsserted(() -> assertThat(node.delivered).hasSize(12));
        awaitDone(db, events);
        for (String aggregate : List.of("a-0", "a-1")) {
            assertThat(ids(node.delivered, aggregate)).isEqualTo(ids(events, aggregate));
        }
        assertThat(node.delivered)
                .allSatisfy(event -> assertThat(event.headers()).containsEntry(EventHeaders.REPLAY, "r1"));
    }

    private static List<String> ids(List<EventEnvelope> events, String aggregateId) {
        return events.stream()
                .filter(event -> aggregateId.equals(event.aggregateId()))
                .map(EventEnvelope::eventId)
                .toList();
    }

    private Node node(StoreFixture db, Consumer<OutboxDispatcher.Builder> settings) {
        Node node = new Node(db.dataSource(), db.store(), settings, poller -> {});
        nodes.add(node);
        node.poller.start();
        return node;
    }

    private static void awaitDone(StoreFixture db, List<EventEnvelope> events) {
        await().atMost(SECONDS)
                .untilAsserted(() -> assertThat(events)
                        .allSatisfy(event ->
                                assertThat(db.row(event.eventId()).status()).isEqualTo(EventStatus.DONE)));
    }
}
