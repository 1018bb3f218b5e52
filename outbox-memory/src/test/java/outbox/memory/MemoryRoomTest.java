package outbox.memory;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.OutboxException;
import outbox.OutboxWriter;
import outbox.admin.EventAdministration;
import outbox.admin.EventFilter;
import outbox.fake.CapturedLog;
import outbox.fake.CountedMetrics;
import outbox.fake.FakeTx;
import outbox.order.Ordering;
import outbox.order.Ordering.WhenDead;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.MetricsExporter;

import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** The bounds of the store, and what becomes of transactions that nobody ends. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MemoryRoomTest {

    private static EventEnvelope event(String id) {
        return EventEnvelope.builder("T").eventId(id).payloadJson("{}").build();
    }

    private static void insert(MemoryEventStore store, String... ids) {
        for (String id : ids) {
            in(store, connection -> store.insertNew(connection, event(id)));
        }
    }

    private interface Work {
        void on(Connection connection) throws SQLException;
    }

    private static void in(MemoryEventStore store, Work work) {
        try (Connection connection = store.connections().getConnection()) {
            connection.setAutoCommit(false);
            work.on(connection);
            connection.commit();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void a_full_store_refuses_whole_writes_and_the_transaction_can_go_on() {
        MemoryEventStore store = MemoryEventStore.builder().maxEvents(3).build();
        insert(store, "1", "2");

        in(store, connection -> {
            assertThatThrownBy(() -> store.insertAll(connection, List.of(event("3"), event("4")), null))
                    .isInstanceOf(MemoryFullException.class)
                    .hasMessageContaining("bounded by 3 events");
            store.insertNew(connection, event("5"));
        });

        assertThat(store.pending()).isEqualTo(3);
        in(
                store,
                connection -> assertThat(EventAdministration.of(store).find(connection, "3"))
                        .isEmpty());
    }

    @Test
    void bytes_are_bounded_too() {
        MemoryEventStore store = MemoryEventStore.builder().maxBytes(10_000).build();
        EventEnvelope large =
                EventEnvelope.builder("T").payloadJson("x".repeat(6000)).build();
        in(store, connection -> store.insertNew(connection, large));

        assertThatThrownBy(() -> in(
                        store,
                        connection -> store.insertNew(
                                connection,
                                EventEnvelope.builder("T")
                                        .payloadJson("x".repeat(6000))
                                        .build())))
                .isInstanceOf(MemoryFullException.class);
    }

    @Test
    void what_waits_for_its_commit_needs_room_and_gives_it_back() throws SQLException {
        MemoryEventStore store = MemoryEventStore.builder().maxEvents(1).build();
        try (Connection open = store.connections().getConnection()) {
            open.setAutoCommit(false);
            store.insertNew(open, event("1"));

            assertThatThrownBy(() -> insert(store, "2")).isInstanceOf(MemoryFullException.class);
            open.rollback();
        }

        insert(store, "2");
        assertThat(store.pending()).isEqualTo(1);
    }

    @Test
    void delivered_events_make_room_first_then_dead_ones_which_is_told_and_unfinished_ones_never() {
        CountedMetrics metrics = new CountedMetrics();
        MemoryEventStore store = MemoryEventStore.builder()
                .maxEvents(4)
                .metrics(metrics.exporter())
                .build();
        insert(store, "dead 1", "dead 2", "done", "pending");
        in(store, connection -> {
            store.markDead(connection, "dead 1", "x");
            store.markDead(connection, "dead 2", "x");
            store.markDone(connection, "done");
        });

        insert(store, "new 1");
        assertThat(ids(store)).containsExactly("dead 1", "dead 2", "pending", "new 1");
        assertThat(metrics.count("recordDropped")).isZero();

        try (CapturedLog log = CapturedLog.of(MemoryEventStore.class)) {
            insert(store, "new 2");

            assertThat(ids(store)).containsExactly("dead 2", "pending", "new 1", "new 2");
            assertThat(metrics.count("recordDropped")).isEqualTo(1);
            assertThat(log.messages(Level.WARNING)).singleElement().asString().contains("Dead event dead 1");
        }
    }

    private static List<String> ids(MemoryEventStore store) {
        List<String> ids = new ArrayList<>();
        in(store, connection -> ids.addAll(EventAdministration.of(store).findIds(connection, EventFilter.all(), 100)));
        return ids;
    }

    @Test
    void a_dead_event_that_blocks_its_aggregate_in_order_is_not_given_up() {
        for (WhenDead whenDead : WhenDead.values()) {
            MemoryEventStore store = MemoryEventStore.builder().maxEvents(1).build();
            in(
                    store,
                    connection -> store.insertNew(
                            connection,
                            EventEnvelope.builder("T")
                                    .eventId("dead")
                                    .aggregateId("a")
                                    .payloadJson("{}")
                                    .build()));
            in(store, connection -> {
                Instant now = store.now(connection);
                store.claim(
                        connection,
                        new Claim("c", 0),
                        ClaimRequest.of(now, now, 1)
                                .inOrder(Ordering.perAggregate().whenDead(whenDead)));
                store.markDead(connection, "dead", "x");
            });

            if (whenDead == WhenDead.BLOCK) {
                assertThatThrownBy(() -> insert(store, "new")).isInstanceOf(MemoryFullException.class);
                assertThat(ids(store)).containsExactly("dead");
            } else {
                insert(store, "new");
                assertThat(ids(store)).containsExactly("new");
            }
        }
    }

    @Test
    void nothing_is_given_up_for_a_write_that_does_not_fit_anyway() {
        MemoryEventStore store =
                MemoryEventStore.builder().maxEvents(3).maxBytes(5000).build();
        insert(store, "done", "dead", "pending");
        in(store, connection -> {
            store.markDone(connection, "done");
            store.markDead(connection, "dead", "x");
        });

        assertThatThrownBy(() -> in(
                        store,
                        connection -> store.insertNew(
                                connection,
                                EventEnvelope.builder("T")
                                        .payloadJson("x".repeat(5000))
                                        .build())))
                .isInstanceOf(MemoryFullException.class);
        assertThatThrownBy(() -> in(
                        store,
                        connection -> store.insertAll(connection, List.of(event("1"), event("2"), event("3")), null)))
                .isInstanceOf(MemoryFullException.class)
                .hasMessageContaining("the 3 events of a write");

        assertThat(ids(store)).containsExactly("done", "dead", "pending");
    }

    @Test
    void an_event_that_keeps_its_key_keeps_its_room() {
        MemoryEventStore store = MemoryEventStore.builder().maxEvents(1).build();
        EventEnvelope kept = EventEnvelope.builder("T")
                .eventId("1")
                .dedupKey("k")
                .dedupFor(Duration.ofHours(1))
                .payloadJson("{}")
                .build();
        in(store, connection -> {
            store.insertNew(connection, kept);
            store.markDone(connection, "1");
        });

        assertThatThrownBy(() -> insert(store, "2")).isInstanceOf(MemoryFullException.class);
    }

    @Test
    void what_finds_no_room_is_dropped_and_counted_if_that_was_chosen() {
        CountedMetrics metrics = new CountedMetrics();
        MemoryEventStore store = dropping(metrics.exporter());

        insert(store, "1", "2", "3", "4");

        assertThat(store.pending()).isEqualTo(2);
        assertThat(metrics.count("recordDropped")).isEqualTo(2);
    }

    private static MemoryEventStore dropping(MetricsExporter metrics) {
        return MemoryEventStore.builder()
                .maxEvents(2)
                .whenFull(WhenFull.DROP)
                .metrics(metrics)
                .build();
    }

    @Test
    void what_is_dropped_counts_once_its_transaction_has_committed_and_not_as_enqueued() {
        CountedMetrics metrics = new CountedMetrics();
        MemoryEventStore store = dropping(metrics.exporter());
        MemoryTransactions tx = new MemoryTransactions(store);
        List<String> told = new ArrayList<>();
        OutboxWriter writer =
                new OutboxWriter(tx, store, event -> told.add(event.eventId())).countedBy(metrics.exporter());
        List<EventEnvelope> events = List.of(event("1"), event("2"), event("3"));

        assertThatThrownBy(() -> tx.run(() -> {
                    writer.writeAll(events);
                    throw new IllegalStateException("rolled back");
                }))
                .hasMessage("rolled back");
        assertThat(metrics.count("recordDropped")).isZero();

        tx.run(() -> {
            writer.writeAll(events);
            assertThat(metrics.count("recordDropped")).isZero();
        });
        assertThat(metrics.count("recordDropped")).isEqualTo(1);
        assertThat(metrics.count("recordEnqueued")).isEqualTo(2);
        assertThat(told).containsExactly("1", "2");
    }

    @Test
    void a_drop_that_a_savepoint_takes_back_does_not_count() {
        CountedMetrics metrics = new CountedMetrics();
        MemoryEventStore store = dropping(metrics.exporter());

        in(store, connection -> {
            store.insertNew(connection, event("1"));
            Savepoint savepoint = connection.setSavepoint();
            store.insertAll(connection, List.of(event("2"), event("3")), null);
            connection.rollback(savepoint);
        });

        assertThat(metrics.count("recordDropped")).isZero();
        assertThat(store.pending()).isEqualTo(1);
    }

    @Test
    void losses_are_told_without_the_lock() {
        CompletableFuture<MemoryEventStore> later = new CompletableFuture<>();
        List<Integer> seen = new CopyOnWriteArrayList<>();
        MemoryEventStore store = dropping((MetricsExporter) Proxy.newProxyInstance(
                MemoryRoomTest.class.getClassLoader(),
                new Class<?>[] {MetricsExporter.class},
                (self, method, arguments) -> seen.add(
                        CompletableFuture.supplyAsync(() -> later.join().pending())
                                .orTimeout(10, TimeUnit.SECONDS)
                                .join())));
        later.complete(store);

        insert(store, "1", "2", "3");

        assertThat(seen).containsExactly(2);
    }

    @Test
    void a_transaction_of_which_nobody_knows_whether_it_committed_holds_nothing() {
        FakeTx tx = FakeTx.active();
        MemoryEventStore store =
                MemoryEventStore.builder().maxEvents(1).joining(tx).build();
        EventEnvelope event = EventEnvelope.builder("T")
                .eventId("1")
                .dedupKey("k")
                .payloadJson("{}")
                .build();
        new OutboxWriter(tx, store).write(event);

        try (CapturedLog log = CapturedLog.of(JoinedTx.class)) {
            tx.endUnknown();

            assertThat(log.messages(Level.WARNING)).singleElement().asString().contains("Nobody knows");
        }

        assertThat(store.pending()).isZero();
        in(store, connection -> store.insertNew(connection, event));
        assertThat(store.pending()).isEqualTo(1);
    }

    @Test
    void a_transaction_whose_end_nobody_tells_is_taken_back_after_a_while() {
        FakeTx tx = FakeTx.active();
        MemoryEventStore store = MemoryEventStore.builder()
                .maxEvents(1)
                .joining(tx)
                .longestTx(Duration.ofNanos(1))
                .build();
        new OutboxWriter(tx, store).write(event("lost"));

        insert(store, "2");

        assertThat(store.pending()).isEqualTo(1);
        assertThatThrownBy(() -> store.checkCommit(tx.currentConnection()))
                .isInstanceOf(OutboxException.class)
                .hasMessageContaining("Roll back");
    }

    @Test
    void a_write_in_a_transaction_that_was_taken_back_takes_no_room() {
        FakeTx tx = FakeTx.active();
        MemoryEventStore store = MemoryEventStore.builder()
                .maxEvents(1)
                .joining(tx)
                .longestTx(Duration.ofNanos(1))
                .build();
        OutboxWriter writer = new OutboxWriter(tx, store);
        writer.write(event("lost"));

        assertThatThrownBy(() -> writer.write(event("too late")))
                .isInstanceOf(OutboxException.class)
                .hasMessageContaining("Roll back");

        insert(store, "2");
        assertThat(store.pending()).isEqualTo(1);
    }
}
