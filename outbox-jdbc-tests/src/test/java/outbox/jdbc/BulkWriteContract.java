package outbox.jdbc;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.dispatch.OutboxDispatcher;
import outbox.testing.contract.StoreFixture;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Transactions write far more events than the hot queue can hold, and nothing fails. All events are delivered long
 * before a lease expires, each once and none as a suspect. Use {@code -Doutbox.bulk.events=40000} for the full size.
 */
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class BulkWriteContract {

    private static final int EVENTS = Integer.getInteger("outbox.bulk.events", 12_000);
    private static final int ROOM = 1000;

    private final Databases database;
    private final List<Node> nodes = new ArrayList<>();
    private StoreFixture db;

    BulkWriteContract(Databases database) {
        this.database = database;
    }

    @BeforeEach
    void createDatabase() {
        db = database.fixture();
    }

    @AfterEach
    void closeNodes() {
        nodes.forEach(Node::close);
    }

    @Test
    void one_large_write_is_delivered_without_a_wait_for_leases() throws Exception {
        Node node = start(dispatcher -> {});

        long leased = write(node, () -> node.writer.writeAll(events(EVENTS)));

        assertThat(leased).isLessThanOrEqualTo(ROOM);
        assertAllDeliveredOnce(node, EVENTS);
    }

    @Test
    void many_writes_of_one_transaction_are_delivered_without_a_wait_for_leases() throws Exception {
        Node node = start(dispatcher -> {});

        long leased = write(node, () -> events(EVENTS).forEach(node.writer::write));

        assertThat(leased).isBetween(1L, (long) ROOM);
        assertAllDeliveredOnce(node, EVENTS);
    }

    @Test
    void events_are_born_leased_as_long_as_there_is_room_for_their_bytes() throws Exception {
        Node node = start(dispatcher -> dispatcher.workerCount(0).maxQueuedBytes(100_000));
        String payload = "x".repeat(10_000);

        long leased = write(node, () -> IntStream.range(0, 50).forEach(i -> node.writer.write("T", payload)));

        assertThat(leased).isEqualTo(10);
    }

    /**
     * All transactions see the same free capacity. After the commit, more events find no room than the outcome
     * writer writes in one batch.
     */
    @Test
    void transactions_that_commit_together_release_what_finds_no_room() throws Exception {
        int room = 6000;
        Node node = start(dispatcher -> dispatcher.hotQueueCapacity(room).workerCount(1));
        CyclicBarrier allWritten = new CyclicBarrier(3);
        List<Thread> writers = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            Thread writer = new Thread(() -> {
                try {
                    write(node, () -> {
                        node.writer.writeAll(events(room));
                        allWritten.await(60, TimeUnit.SECONDS);
                    });
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
            writers.add(writer);
            writer.start();
        }
        for (Thread writer : writers) {
            writer.join(120_000);
        }

        assertAllDeliveredOnce(node, 3 * room);
    }

    private Node start(Consumer<OutboxDispatcher.Builder> settings) {
        Node node = new Node(
                db.dataSource(),
                db.store(),
                dispatcher -> settings.accept(dispatcher.hotQueueCapacity(ROOM)),
                poller -> {});
        nodes.add(node);
        node.poller.start();
        return node;
    }

    /** The writes of a transaction. */
    private interface Writes {
        void run() throws Exception;
    }

    /** Writes in one transaction, and returns how many of its events are leased before it commits. */
    private static long write(Node node, Writes writes) throws Exception {
        try (JdbcTransactionManager.Transaction tx = node.transactions.begin()) {
            writes.run();
            long leased;
            try (var select = tx.connection().createStatement();
                    var row = select.executeQuery("SELECT COUNT(*) FROM outbox_event WHERE locked_by IS NOT NULL")) {
                row.next();
                leased = row.getLong(1);
            }
            tx.commit();
            return leased;
        }
    }

    private static List<EventEnvelope> events(int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> EventEnvelope.ofJson("T", "{\"n\":" + i + "}"))
                .toList();
    }

    private void assertAllDeliveredOnce(Node node, int events) {
        await().atMost(120, TimeUnit.SECONDS).until(() -> db.count("status = 1") == events);
        assertThat(node.deliveredIds()).hasSize(events).doesNotHaveDuplicates();
        assertThat(db.count("attempts > 0 OR locked_by IS NOT NULL OR locked_at IS NOT NULL"))
                .isZero();
        assertThat(node.counts.lostClaims).hasValue(0);
    }
}
