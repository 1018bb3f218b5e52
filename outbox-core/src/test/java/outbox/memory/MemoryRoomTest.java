package outbox.memory;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.OutboxException;
import outbox.OutboxWriter;
import outbox.fake.CountedMetrics;
import outbox.fake.FakeTx;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;

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
        in(store, connection -> assertThat(store.find(connection, "3")).isEmpty());
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
    void finished_events_make_room_the_oldest_first_and_unfinished_ones_do_not() {
        MemoryEventStore store = MemoryEventStore.builder().maxEvents(3).build();
        insert(store, "1", "2", "3");
        in(store, connection -> {
            store.markDone(connection, "2");
            store.markDead(connection, "3", "x");
        });

        insert(store, "4");

        in(store, connection -> {
            assertThat(store.find(connection, "1")).isPresent();
            assertThat(store.find(connection, "2")).isEmpty();
            assertThat(store.find(connection, "3")).isPresent();
        });
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
        MemoryEventStore store = MemoryEventStore.builder()
                .maxEvents(2)
                .whenFull(WhenFull.DROP)
                .metrics(metrics.exporter())
                .build();

        insert(store, "1", "2", "3", "4");

        assertThat(store.pending()).isEqualTo(2);
        assertThat(metrics.count("recordDropped")).isEqualTo(2);
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
