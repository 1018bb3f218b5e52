package outbox.jdbc;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.DuplicateKeyException;
import outbox.EventEnvelope;
import outbox.EventRef;
import outbox.OutboxException;
import outbox.OutboxWriter;
import outbox.OutboxWriter.Change;
import outbox.jdbc.JdbcTransactionManager.Transaction;
import outbox.model.EventStatus;
import outbox.spi.Claim;
import outbox.testing.contract.StoreFixture;
import outbox.testing.contract.StoreFixture.Row;
import outbox.testing.fault.FaultyDataSource;

import java.sql.SQLException;
import java.sql.Savepoint;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/** Due times, keys and priorities, tested through writer, dispatcher and poller on a real database. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class ControlledDeliveryContract {

    private static final long AN_HOUR = 3_600_000;

    private final Databases database;
    private final List<Node> nodes = new ArrayList<>();
    private StoreFixture db;

    @SuppressWarnings("NullAway.Init") // before each test
    ControlledDeliveryContract(Databases database) {
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

    /** Creates a node whose poller runs one cycle after its start, and further cycles only when it is woken. */
    private Node node() {
        Node node = new Node(db.dataSource(), db.store(), dispatcher -> {}, poller -> poller.intervalMs(AN_HOUR));
        nodes.add(node);
        return node;
    }

    private static EventEnvelope.Builder event() {
        return EventEnvelope.builder("T").payloadJson("{}");
    }

    private static <T> T inTransaction(Node node, Function<Transaction, T> work) {
        try (Transaction tx = node.transactions.begin()) {
            T answer = work.apply(tx);
            tx.commit();
            return answer;
        }
    }

    private static Change changed(Node node, Supplier<Change> change) {
        return inTransaction(node, tx -> change.get());
    }

    private static String written(Node node, Supplier<String> write) {
        return inTransaction(node, tx -> write.get());
    }

    private void awaitStatus(EventEnvelope event, EventStatus status) {
        await().atMost(Duration.ofSeconds(30))
                .until(() -> db.row(event.eventId()).status() == status);
    }

    // ---- time ----

    @Test
    void an_event_is_delivered_when_it_is_due_and_not_before_though_nobody_polls() {
        Node node = node();
        Map<String, Instant> starts = new ConcurrentHashMap<>();
        node.listener = event -> starts.put(event.eventId(), db.now());
        node.poller.start();
        Instant before = db.now();
        EventEnvelope late = event().availableAt(before.plusMillis(900)).build();
        EventEnvelope soon = event().deliverAfter(Duration.ofMillis(300)).build();

        node.write(node.writer, late);
        node.write(node.writer, soon);

        assertThat(db.row(soon.eventId()).lockedBy()).isNull();
        awaitStatus(soon, EventStatus.DONE);
        awaitStatus(late, EventStatus.DONE);
        assertThat(starts.get(soon.eventId())).isAfterOrEqualTo(before.plusMillis(300));
        assertThat(starts.get(late.eventId())).isAfterOrEqualTo(before.plusMillis(900));
        assertThat(node.delivered).containsExactly(soon, late);
    }

    @Test
    void a_delay_counts_from_the_write_and_not_from_the_begin_of_its_transaction() {
        Node node = node();
        EventEnvelope event = event().deliverAfter(Duration.ofHours(1)).build();
        Instant written;

        try (Transaction tx = node.transactions.begin()) {
            node.coldWriter.write(event().build()); // this write begins the transaction
            Instant begin = db.now();
            await().until(() -> db.now().isAfter(begin.plusMillis(300)));
            written = db.now();
            node.coldWriter.write(event);
            tx.commit();
        }

        Instant due = db.call(connection -> Objects.requireNonNull(((AbstractJdbcEventStore) db.store())
                .find(connection, event.eventId())
                .orElseThrow()
                .event()
                .availableAt()));
        assertThat(due).isAfterOrEqualTo(written.plus(Duration.ofHours(1)));
    }

    @Test
    void a_node_that_did_not_write_the_event_wakes_up_when_it_is_due() {
        Node writing = node();
        Node other = node();
        EventEnvelope event = event().deliverAfter(Duration.ofMillis(500)).build();
        writing.write(writing.coldWriter, event);

        other.poller.start(); // finds nothing and learns the next due time

        awaitStatus(event, EventStatus.DONE);
        assertThat(other.deliveredIds()).containsExactly(event.eventId());
    }

    @Test
    void a_retry_comes_when_it_is_due_though_nobody_polls() {
        Node node = new Node(
                db.dataSource(),
                db.store(),
                dispatcher -> dispatcher.retryPolicy(attempts -> 200),
                poller -> poller.intervalMs(AN_HOUR));
        nodes.add(node);
        node.listener = event -> {
            if (node.delivered.size() < 3) {
                throw new IllegalStateException("not yet");
            }
        };
        node.poller.start();

        EventEnvelope event = node.write("{}");

        awaitStatus(event, EventStatus.DONE);
        assertThat(db.row(event.eventId()).attempts()).isEqualTo(2);
    }

    @Test
    void waking_up_for_what_is_due_takes_few_statements() {
        FaultyDataSource counted = new FaultyDataSource(db.dataSource());
        Node writing = node();
        Instant start = db.now().plusMillis(500);
        for (int i = 0; i < 20; i++) {
            writing.write(
                    writing.coldWriter,
                    event().availableAt(start.plusMillis(50L * i)).build());
        }
        Node node = new Node(counted, db.store(), dispatcher -> {}, poller -> poller.intervalMs(AN_HOUR));
        nodes.add(node);

        node.poller.start();

        await().atMost(Duration.ofSeconds(30)).until(() -> db.count("status = 1") == 20);
        // A poll cycle is one claim (at most four statements) and the query for the next due time. A mark is one
        // statement. MySQL and MariaDB also set the isolation level each time.
        assertThat(counted.statements()).isLessThan(25 * 6 + 20 * 3);
    }

    @Test
    void an_event_whose_deadline_has_passed_is_dead_and_its_listener_is_not_called() {
        Node node = node();

        EventEnvelope event = node.write(
                node.writer, event().expiresAt(db.now().minusSeconds(1)).build());

        awaitStatus(event, EventStatus.DEAD);
        Row row = db.row(event.eventId());
        assertThat(row.lastError()).startsWith("Expired: ");
        assertThat(row.attempts()).isZero();
        assertThat(node.delivered).isEmpty();
    }

    @Test
    void an_event_that_fails_until_its_deadline_is_dead_with_that_reason() {
        Node node = new Node(
                db.dataSource(),
                db.store(),
                dispatcher -> dispatcher.retryPolicy(attempts -> 50).maxAttempts(1000),
                poller -> poller.intervalMs(AN_HOUR));
        nodes.add(node);
        node.listener = event -> {
            throw new IllegalStateException("always");
        };
        node.poller.start();

        EventEnvelope event = node.write(
                node.writer, event().expireAfter(Duration.ofMillis(400)).build());

        awaitStatus(event, EventStatus.DEAD);
        assertThat(db.row(event.eventId()).lastError()).startsWith("Expired: ");
        assertThat(db.row(event.eventId()).attempts()).isEqualTo(node.delivered.size());
    }

    @Test
    void a_poller_ends_what_expires_before_it_is_due() {
        Node node = node();
        EventEnvelope event = node.write(
                node.writer,
                event().expiresAt(db.now().minusSeconds(1))
                        .deliverAfter(Duration.ofHours(1))
                        .build());

        node.poller.poll();

        assertThat(db.row(event.eventId()).status()).isEqualTo(EventStatus.DEAD);
        assertThat(node.counts.dead).hasValue(1);
    }

    @Test
    void an_event_is_the_same_on_the_hot_and_the_cold_path() {
        Node node = node();
        EventEnvelope hot = event().dedupKey("hot")
                .dedupFor(Duration.ofMinutes(1))
                .priority(3)
                .expireAfter(Duration.ofHours(1))
                .build();
        node.write(node.writer, hot);
        awaitStatus(hot, EventStatus.DONE);
        EventEnvelope cold = event().dedupKey("cold")
                .priority(3)
                .expiresAt(db.now().plusSeconds(60))
                .build();
        node.write(node.coldWriter, cold);
        node.poller.poll();
        awaitStatus(cold, EventStatus.DONE);

        EventEnvelope stored = db.call(connection -> EventEnvelope.restore(((AbstractJdbcEventStore) db.store())
                .find(connection, hot.eventId())
                .orElseThrow()
                .event()));
        assertThat(node.delivered).containsExactly(stored, cold);
        assertThat(stored.expiresAt()).isAfter(db.now());
    }

    // ---- identity ----

    @Test
    void a_second_write_with_a_taken_key_does_nothing_and_answers_the_first_id() {
        Node node = node();
        EventEnvelope first =
                event().dedupKey("k").deliverAfter(Duration.ofHours(1)).build();
        node.write(node.writer, first);
        EventEnvelope plain = event().build();

        List<String> ids = inTransaction(
                node,
                tx -> node.writer.writeAll(List.of(plain, event().dedupKey("k").build())));

        assertThat(ids).containsExactly(plain.eventId(), first.eventId());
        awaitStatus(plain, EventStatus.DONE);
        assertThat(db.count("1 = 1")).isEqualTo(2);
        assertThat(node.deliveredIds()).containsExactly(plain.eventId());
    }

    @Test
    void a_gathering_writer_answers_the_first_id_too() {
        Node node = node();
        OutboxWriter gathering = node.writer.gathering();
        EventEnvelope before = event().build();
        EventEnvelope first =
                event().dedupKey("k").deliverAfter(Duration.ofHours(1)).build();
        EventEnvelope after = event().build();

        List<String> ids = inTransaction(
                node,
                tx -> List.of(
                        gathering.write(before),
                        gathering.write(first),
                        gathering.write(event().dedupKey("k").build()),
                        gathering.write(after)));

        assertThat(ids).containsExactly(before.eventId(), first.eventId(), first.eventId(), after.eventId());
        assertThat(db.count("1 = 1")).isEqualTo(3);
        awaitStatus(before, EventStatus.DONE);
        awaitStatus(after, EventStatus.DONE);
    }

    @Test
    void a_writer_may_refuse_a_taken_key_and_the_transaction_goes_on() {
        Node node = node();
        EventEnvelope first =
                event().dedupKey("k").deliverAfter(Duration.ofHours(1)).build();
        node.write(node.writer, first);
        EventEnvelope other = event().build();

        inTransaction(node, tx -> {
            assertThatThrownBy(() -> node.writer
                            .refusingDuplicates()
                            .write(event().dedupKey("k").build()))
                    .isInstanceOfSatisfying(
                            DuplicateKeyException.class,
                            e -> assertThat(e.firstId()).isEqualTo(first.eventId()));
            return node.writer.write(other);
        });

        awaitStatus(other, EventStatus.DONE);
        assertThat(db.count("1 = 1")).isEqualTo(2);
    }

    @Test
    void an_event_that_keeps_its_key_stays_in_the_table_though_delivered_ones_are_deleted() {
        Node node = new Node(db.dataSource(), db.store(), dispatcher -> dispatcher.deleteDone(true), poller -> {});
        nodes.add(node);
        EventEnvelope kept = event().dedupKey("k").dedupFor(Duration.ofHours(1)).build();
        EventEnvelope other = event().build();

        inTransaction(node, tx -> node.writer.writeAll(List.of(kept, other)));

        awaitStatus(kept, EventStatus.DONE);
        await().atMost(Duration.ofSeconds(30)).until(() -> db.count("1 = 1") == 1);
        assertThat(written(node, () -> node.writer.write(event().dedupKey("k").build())))
                .isEqualTo(kept.eventId());
    }

    // ---- changes ----

    @Test
    void an_event_of_the_same_transaction_is_cancelled_before_anybody_hears_of_it() {
        Node node = node();
        for (OutboxWriter writer : List.of(node.writer, node.writer.gathering(), node.coldWriter)) {
            EventEnvelope byId = event().build();
            EventEnvelope byKey = event().dedupKey("k").build();
            EventEnvelope kept = event().build();

            List<Change> changes = inTransaction(node, tx -> {
                writer.writeAll(List.of(byId, kept));
                writer.write(byKey);
                return List.of(writer.cancel(EventRef.id(byId.eventId())), writer.cancel(EventRef.key("k")));
            });
            node.poller.poll();

            assertThat(changes).containsExactly(Change.MADE, Change.MADE);
            awaitStatus(kept, EventStatus.DONE);
        }
        assertThat(node.delivered).hasSize(3);
        assertThat(db.count("1 = 1")).isEqualTo(3);
        assertThat(node.counts.lostClaims).hasValue(0);
    }

    @Test
    void what_was_cancelled_after_a_savepoint_is_delivered_when_that_is_rolled_back() throws SQLException {
        Node node = node();
        EventEnvelope event = event().build();

        try (Transaction tx = node.transactions.begin()) {
            node.writer.write(event);
            Savepoint savepoint = tx.connection().setSavepoint();
            assertThat(node.writer.cancel(EventRef.id(event.eventId()))).isEqualTo(Change.MADE);
            tx.connection().rollback(savepoint);
            tx.commit();
        }

        awaitStatus(event, EventStatus.DONE);
    }

    @Test
    void an_event_is_as_before_when_its_cancellation_is_rolled_back() {
        Node node = node();
        EventEnvelope event = node.write(node.coldWriter, event().build());

        try (Transaction tx = node.transactions.begin()) {
            assertThat(node.writer.cancel(EventRef.id(event.eventId()))).isEqualTo(Change.MADE);
            tx.rollback();
        }
        node.poller.poll();

        awaitStatus(event, EventStatus.DONE);
    }

    @Test
    void an_event_that_is_delivered_cannot_be_changed_and_the_caller_is_told() throws Exception {
        Node node = node();
        CountDownLatch started = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        node.listener = event -> {
            started.countDown();
            assertThat(go.await(30, TimeUnit.SECONDS)).isTrue();
        };
        EventEnvelope event = node.write(node.writer, event().dedupKey("k").build());
        assertThat(started.await(30, TimeUnit.SECONDS)).isTrue();

        assertThat(changes(node, event)).containsOnly(Change.TOO_LATE);
        go.countDown();
        awaitStatus(event, EventStatus.DONE);
        assertThat(changed(node, () -> node.writer.cancel(EventRef.id(event.eventId()))))
                .isEqualTo(Change.TOO_LATE);
        assertThat(changed(node, () -> node.writer.cancel(EventRef.key("k")))).isEqualTo(Change.NOT_FOUND);
        assertThat(changed(node, () -> node.writer.cancel(EventRef.id("none")))).isEqualTo(Change.NOT_FOUND);
        assertThat(node.delivered).hasSize(1);
    }

    @Test
    void a_suspect_that_was_given_back_unstarted_cannot_be_cancelled_and_is_delivered() {
        EventEnvelope event = event().build();
        givenLeaseThatRanOut(event); // of a frozen node, which may still deliver the event
        Node full = new Node(
                db.dataSource(),
                db.store(),
                dispatcher -> dispatcher.workerCount(0).ownerId("full"),
                poller -> poller.intervalMs(AN_HOUR).ownerId("full"));
        full.poller.poll();
        full.close();
        Node node = node();

        assertThat(db.row(event.eventId()).lockedBy()).startsWith("full/");
        assertThat(changed(node, () -> node.writer.cancel(EventRef.id(event.eventId()))))
                .isEqualTo(Change.TOO_LATE);
        node.poller.poll();
        awaitStatus(event, EventStatus.DONE);
        assertThat(db.row(event.eventId()).attempts()).isEqualTo(1); // the attempt is recorded before the run
    }

    private void givenLeaseThatRanOut(EventEnvelope event) {
        Instant longAgo = db.now().minus(Duration.ofHours(1));
        db.inTransaction(connection -> {
            db.store().insertAll(connection, List.of(event), new Claim("a-node-that-stands-still/1", 0));
            assertThat(db.store().renew(connection, "a-node-that-stands-still/1", List.of(event.eventId()), longAgo))
                    .hasSize(1);
        });
    }

    private static List<Change> changes(Node node, EventEnvelope event) {
        return inTransaction(
                node,
                tx -> List.of(
                        node.writer.cancel(EventRef.id(event.eventId())),
                        node.writer.cancel(EventRef.key("k")),
                        node.writer.reschedule(EventRef.key("k"), Duration.ofHours(1)),
                        node.writer.replace(event().dedupKey("k").build())));
    }

    @Test
    void a_pending_event_is_brought_forward_and_the_poller_wakes_up_for_it() {
        Node node = node();
        node.poller.start();
        EventEnvelope event =
                event().dedupKey("k").deliverAfter(Duration.ofHours(1)).build();
        node.write(node.writer, event);

        Change change = inTransaction(node, tx -> node.writer.reschedule(EventRef.key("k"), Duration.ofMillis(100)));

        assertThat(change).isEqualTo(Change.MADE);
        awaitStatus(event, EventStatus.DONE);
    }

    @Test
    void an_event_that_is_made_due_centuries_ago_is_delivered_at_once() {
        Node node = node();
        node.poller.start();
        EventEnvelope event = event().deliverAfter(Duration.ofHours(1)).build();
        node.write(node.writer, event);

        assertThat(changed(
                        node,
                        () -> node.writer.reschedule(
                                EventRef.id(event.eventId()), Instant.parse("1700-01-01T00:00:00Z"))))
                .isEqualTo(Change.MADE);

        awaitStatus(event, EventStatus.DONE);
    }

    @Test
    void a_hot_event_is_put_off_by_the_transaction_that_wrote_it() {
        Node node = node();
        EventEnvelope event = event().build();

        Change change = inTransaction(node, tx -> {
            node.writer.write(event);
            return node.writer.reschedule(EventRef.id(event.eventId()), Duration.ofHours(1));
        });
        node.poller.poll();

        assertThat(change).isEqualTo(Change.MADE);
        assertThat(db.row(event.eventId())).isEqualTo(new Row(EventStatus.NEW, 0, null, null));
        assertThat(node.delivered).isEmpty();
    }

    @Test
    void a_pending_event_is_replaced_by_another_with_its_key() {
        Node node = node();
        node.write(
                node.writer,
                event().dedupKey("k").deliverAfter(Duration.ofHours(1)).build());
        EventEnvelope replacement = EventEnvelope.builder("T")
                .payloadJson("{\"new\":1}")
                .dedupKey("k")
                .build();

        assertThat(changed(node, () -> node.writer.replace(replacement))).isEqualTo(Change.MADE);

        awaitStatus(replacement, EventStatus.DONE);
        assertThat(node.delivered).containsExactly(replacement);
        assertThat(db.count("1 = 1")).isEqualTo(1);
        assertThat(changed(node, () -> node.writer.replace(event().dedupKey("k").build())))
                .isEqualTo(Change.NOT_FOUND);
    }

    @Test
    void a_pending_event_is_replaced_by_its_id_by_one_without_a_key() {
        Node node = node();
        EventEnvelope first = event().deliverAfter(Duration.ofHours(1)).build();
        node.write(node.writer, first);
        EventEnvelope replacement = event().build();

        assertThat(changed(node, () -> node.writer.replace(EventRef.id(first.eventId()), replacement)))
                .isEqualTo(Change.MADE);

        awaitStatus(replacement, EventStatus.DONE);
        assertThat(node.delivered).containsExactly(replacement);
        assertThat(db.count("1 = 1")).isEqualTo(1);
        assertThat(changed(node, () -> node.writer.replace(EventRef.id(replacement.eventId()), event().build())))
                .isEqualTo(Change.TOO_LATE);
        assertThat(db.count("1 = 1")).isEqualTo(1);
    }

    @Test
    void a_replacement_whose_key_another_event_has_is_refused_and_nothing_is_lost() {
        Node node = node();
        EventEnvelope first = event().deliverAfter(Duration.ofHours(1)).build();
        EventEnvelope other =
                event().dedupKey("k").deliverAfter(Duration.ofHours(1)).build();
        node.write(node.writer, first);
        node.write(node.writer, other);

        assertThatThrownBy(() -> inTransaction(
                        node,
                        tx -> node.writer.replace(
                                EventRef.id(first.eventId()),
                                event().dedupKey("k").build())))
                .isInstanceOf(OutboxException.class)
                .hasMessageContaining(other.eventId());

        assertThat(db.row(first.eventId()).status()).isEqualTo(EventStatus.NEW); // the change was rolled back
        assertThat(db.count("1 = 1")).isEqualTo(2);
    }
}
