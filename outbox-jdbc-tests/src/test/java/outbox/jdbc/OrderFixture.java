package outbox.jdbc;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.dispatch.OutboxDispatcher;
import outbox.order.Ordering;
import outbox.poller.OutboxPoller;
import outbox.spi.LeasingEventStore;
import outbox.testing.contract.StoreFixture;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.IntStream;

import static org.awaitility.Awaitility.await;

/** Nodes that deliver in order from a new table. They share one log. */
abstract class OrderFixture {

    static final Duration LONG = Duration.ofSeconds(60);

    final Databases database;
    final OrderLog log = new OrderLog();
    StoreFixture db;
    private final List<Node> nodes = new ArrayList<>();
    private final List<CountDownLatch> latches = new ArrayList<>();

    @SuppressWarnings("NullAway.Init") // before each test
    OrderFixture(Databases database) {
        this.database = database;
    }

    @BeforeEach
    void createDatabase() {
        db = database.fixture();
    }

    @AfterEach
    void closeNodes() {
        latches.forEach(CountDownLatch::countDown);
        nodes.forEach(Node::close);
    }

    Node node() {
        return node(Ordering.perAggregate());
    }

    Node node(Ordering ordering) {
        return node(ordering, dispatcher -> {}, poller -> {});
    }

    Node node(
            Ordering ordering,
            Consumer<OutboxDispatcher.Builder> dispatcherSettings,
            Consumer<OutboxPoller.Builder> pollerSettings) {
        return node(db.store(), ordering, dispatcherSettings, pollerSettings);
    }

    Node node(
            LeasingEventStore store,
            Ordering ordering,
            Consumer<OutboxDispatcher.Builder> dispatcherSettings,
            Consumer<OutboxPoller.Builder> pollerSettings) {
        Node node = new Node(
                db.dataSource(),
                store,
                dispatcher -> dispatcherSettings.accept(dispatcher.ordering(ordering)),
                pollerSettings);
        node.listener = log;
        nodes.add(node);
        return node;
    }

    /** Returns a latch that opens at the end of the test at the latest. */
    CountDownLatch latch() {
        CountDownLatch latch = new CountDownLatch(1);
        latches.add(latch);
        return latch;
    }

    static void pass(CountDownLatch latch) throws InterruptedException {
        if (!latch.await(60, TimeUnit.SECONDS)) {
            throw new AssertionError("waited for a minute");
        }
    }

    /** Writes the events, each in its own transaction. */
    static void write(Node node, OutboxWriter writer, EventEnvelope... events) {
        for (EventEnvelope event : events) {
            node.write(writer, event);
        }
    }

    static EventEnvelope[] events(String aggregate, int from, int to) {
        return IntStream.rangeClosed(from, to)
                .mapToObj(number -> OrderLog.event(aggregate, number))
                .toArray(EventEnvelope[]::new);
    }

    /** Waits until this number of events is DONE and no event is unfinished or claimed. */
    void awaitAllDone(int events) {
        await().atMost(LONG)
                .until(() ->
                        db.count("status = 1") == events && db.count("status IN (0, 2) OR locked_by IS NOT NULL") == 0);
    }

    void awaitDone(String aggregate, int events) {
        await().atMost(LONG).until(() -> db.count("status = 1 AND aggregate_id = '" + aggregate + "'") == events);
    }
}
