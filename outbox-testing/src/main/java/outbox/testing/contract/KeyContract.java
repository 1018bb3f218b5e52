package outbox.testing.contract;

import org.junit.jupiter.api.Test;
import outbox.DuplicateKeyException;
import outbox.EventEnvelope;
import outbox.admin.EventAdministration.Replay;
import outbox.admin.EventFilter;
import outbox.admin.EventQuery;
import outbox.admin.EventSummary;
import outbox.model.EventStatus;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** Contract tests for keys: one unfinished event for each key. */
abstract class KeyContract extends DueTimeContract {

    @Test
    void a_second_event_with_the_key_of_an_unfinished_one_is_left_out() {
        EventEnvelope first = keyed("k");
        EventEnvelope second = keyed("k");
        EventEnvelope other = keyed("K");
        EventEnvelope plain = event().build();
        write(first);

        assertThat(write(plain, second, other)).containsOnly(Map.entry(second.eventId(), first.eventId()));

        assertThat(db.count("1 = 1")).isEqualTo(3);
    }

    @Test
    void of_two_events_with_one_key_in_one_call_the_first_is_inserted() {
        EventEnvelope first = keyed("k");
        EventEnvelope second = keyed("k");

        assertThat(write(first, second)).containsOnly(Map.entry(second.eventId(), first.eventId()));
        assertThat(db.count("1 = 1")).isEqualTo(1);
    }

    @Test
    void a_taken_key_can_be_refused_without_a_trace_and_the_transaction_goes_on() {
        EventEnvelope first = keyed("k");
        write(first);
        EventEnvelope later = event().build();

        db.inTransaction(connection -> {
            assertThatThrownBy(() -> store.insertAll(connection, List.of(event().build(), keyed("k")), null))
                    .isInstanceOf(DuplicateKeyException.class)
                    .hasMessageContaining(first.eventId());
            store.insertNew(connection, later);
        });

        assertThat(db.count("1 = 1")).isEqualTo(2);
    }

    @Test
    void an_id_that_exists_is_still_an_error_for_an_event_with_a_key() {
        EventEnvelope first = keyed("k");
        write(first);
        EventEnvelope sameId =
                event().eventId(first.eventId()).dedupKey("other").build();

        assertThatThrownBy(() -> write(sameId)).hasMessageContaining(first.eventId());
    }

    @Test
    void an_id_that_exists_is_an_error_whatever_the_two_events_use() {
        EventEnvelope plain = event().build();
        EventEnvelope urgent = event().priority(5).build();
        EventEnvelope later = event().build();
        write(plain);
        write(urgent);

        db.inTransaction(connection -> {
            for (EventEnvelope again : List.of(
                    event().eventId(plain.eventId()).priority(5).build(),
                    event().eventId(plain.eventId()).dedupKey("k").build(),
                    event().eventId(urgent.eventId()).build())) {
                assertThatThrownBy(() -> store.insertAll(connection, List.of(event().build(), again), null))
                        .hasMessageContaining(again.eventId());
            }
            EventEnvelope given = event().eventId("given").build();
            EventEnvelope twice = event().eventId("given").priority(5).build();
            assertThatThrownBy(() -> store.insertAll(connection, List.of(given, twice), null))
                    .hasMessageContaining("given");
            store.insertNew(connection, later); // the transaction is still usable after these errors
        });

        assertThat(db.count("1 = 1")).isEqualTo(3);
        assertThat(db.row(plain.eventId()).status()).isEqualTo(EventStatus.NEW);
    }

    @Test
    void a_key_is_free_when_its_event_is_done_or_dead() {
        EventEnvelope first = keyed("k");
        EventEnvelope second = keyed("k");
        EventEnvelope third = keyed("k");

        write(first);
        finish(first, EventStatus.DONE, db.now());
        assertThat(write(second)).isEmpty();
        finish(second, EventStatus.DEAD, db.now());
        assertThat(write(third)).isEmpty();
    }

    @Test
    void a_key_stays_taken_for_the_chosen_time_after_its_event_is_done() {
        EventEnvelope first = event().dedupKey("k").dedupFor(HOUR).build();
        EventEnvelope second = keyed("k");
        EventEnvelope third = keyed("k");
        write(first);
        finish(first, EventStatus.DONE, db.now());

        assertThat(write(second)).containsOnly(Map.entry(second.eventId(), first.eventId()));
        assertThat(purge(db.now().plus(HOUR))).isZero();

        EventEnvelope old = event().dedupKey("old").dedupFor(HOUR).build();
        write(old);
        finish(old, EventStatus.DONE, db.now().minus(HOUR).minusSeconds(1));
        EventEnvelope again = keyed("old");
        assertThat(write(again)).isEmpty();
        assertThat(write(keyed("old"))).containsValue(again.eventId());
        assertThat(write(third)).containsValue(first.eventId());
        assertThat(purge(db.now().plus(HOUR))).isEqualTo(1);
    }

    @Test
    void a_dead_event_keeps_no_key_and_is_purged_at_once() {
        EventEnvelope dead = event().dedupKey("k").dedupFor(HOUR).build();
        write(dead);
        finish(dead, EventStatus.DEAD, db.now());
        Instant later = db.now().plusSeconds(1);

        assertThat(db.<Integer>call(connection -> admin.purge(connection, EventStatus.DEAD, later, 100)))
                .isEqualTo(1);
    }

    private int purge(Instant doneBefore) {
        if (db.rows() == null) {
            db.inTransaction(connection -> {
                try (var update =
                        connection.prepareStatement("UPDATE " + db.table() + " SET available_at = created_at")) {
                    update.executeUpdate();
                }
            });
        }
        return db.call(connection -> admin.purge(connection, EventStatus.DONE, doneBefore, 100));
    }

    @Test
    void many_writers_of_one_key_agree_on_one_event() throws Exception {
        int writers = 8;
        ExecutorService threads = Executors.newFixedThreadPool(writers);
        try {
            for (int round = 0; round < 20; round++) {
                String key = "round " + round;
                List<Future<String>> ids = new ArrayList<>();
                for (int i = 0; i < writers; i++) {
                    ids.add(threads.submit(() -> db.retrying(() -> {
                        EventEnvelope event = keyed(key);
                        return write(event).getOrDefault(event.eventId(), event.eventId());
                    })));
                }
                List<String> answers = new ArrayList<>();
                for (Future<String> id : ids) {
                    answers.add(id.get(30, TimeUnit.SECONDS));
                }
                assertThat(answers).hasSize(writers).containsOnly(answers.get(0));
            }
        } finally {
            threads.shutdownNow();
        }
        assertThat(db.count("1 = 1")).isEqualTo(20);
    }

    @Test
    void a_dead_event_whose_key_is_taken_is_not_replayed_and_the_others_are() {
        EventEnvelope dead = keyed("k");
        EventEnvelope alsoDead = keyed("free");
        EventEnvelope sameKey = keyed("free");
        EventEnvelope plain = event().build();
        for (EventEnvelope event : List.of(dead, alsoDead, sameKey, plain)) {
            write(event);
            finish(event, EventStatus.DEAD, db.now());
        }
        EventEnvelope taker = keyed("k");
        write(taker);

        List<String> all = List.of(dead.eventId(), alsoDead.eventId(), sameKey.eventId(), plain.eventId());
        int replayed = db.call(connection -> admin.replay(connection, all, Replay.dead("r", store.now(connection))));

        assertThat(replayed).isEqualTo(2);
        assertThat(db.row(dead.eventId()).status()).isEqualTo(EventStatus.DEAD);
        assertThat(db.row(alsoDead.eventId()).status()).isEqualTo(EventStatus.NEW);
        assertThat(db.row(sameKey.eventId()).status()).isEqualTo(EventStatus.DEAD);
        assertThat(db.row(plain.eventId()).status()).isEqualTo(EventStatus.NEW);
    }

    @Test
    void a_delivered_event_is_replayed_unless_another_has_its_key() {
        EventEnvelope keeps = event().dedupKey("kept").dedupFor(HOUR).build();
        EventEnvelope free = keyed("free");
        EventEnvelope taken = keyed("taken");
        for (EventEnvelope event : List.of(keeps, free, taken)) {
            write(event);
            finish(event, EventStatus.DONE, db.now());
        }
        write(keyed("taken"));

        List<String> all = List.of(keeps.eventId(), free.eventId(), taken.eventId());
        int replayed = db.call(connection -> admin.replay(
                connection,
                all,
                new Replay("r", Set.of(EventStatus.DONE), null, store.now(connection), Replay.NO_PAUSE)));

        assertThat(replayed).isEqualTo(2);
        assertThat(db.row(keeps.eventId()).status()).isEqualTo(EventStatus.NEW);
        assertThat(db.row(free.eventId()).status()).isEqualTo(EventStatus.NEW);
        assertThat(db.row(taken.eventId()).status()).isEqualTo(EventStatus.DONE);
        assertThat(write(keyed("kept"))).hasSize(1);
    }

    @Test
    void an_operator_finds_events_by_their_key_and_sees_what_was_asked_for() {
        Instant later = db.now().plus(HOUR);
        EventEnvelope done = keyed("k");
        EventEnvelope event = event().dedupKey("k")
                .priority(4)
                .availableAt(later)
                .expiresAt(later)
                .build();
        write(done);
        finish(done, EventStatus.DONE, db.now());
        write(event, keyed("other"));

        EventFilter byKey = EventFilter.builder().dedupKey("k").build();
        List<EventSummary> found = db.call(connection ->
                admin.find(connection, EventQuery.builder().filter(byKey).build()));

        assertThat(found).extracting(EventSummary::eventId).containsOnly(done.eventId(), event.eventId());
        EventSummary summary = found.stream()
                .filter(one -> one.eventId().equals(event.eventId()))
                .findFirst()
                .orElseThrow();
        assertThat(summary.dedupKey()).isEqualTo("k");
        assertThat(summary.priority()).isEqualTo(4);
        assertThat(summary.availableAt()).isEqualTo(later);
        assertThat(summary.expiresAt()).isEqualTo(later);
        long count = db.call(connection -> admin.count(connection, byKey));
        assertThat(count).isEqualTo(2);
    }
}
