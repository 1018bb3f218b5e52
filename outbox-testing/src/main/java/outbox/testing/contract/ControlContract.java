package outbox.testing.contract;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.DuplicateKeyException;
import outbox.EventEnvelope;
import outbox.EventRef;
import outbox.Experimental;
import outbox.admin.EventAdministration;
import outbox.admin.EventAdministration.Replay;
import outbox.admin.EventFilter;
import outbox.admin.EventQuery;
import outbox.admin.EventSummary;
import outbox.model.EventStatus;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.ClaimedEvent;
import outbox.spi.EventControl;
import outbox.spi.EventControl.Pending;
import outbox.spi.LeasingEventStore;
import outbox.spi.Mark;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/**
 * Contract tests for due times, keys, deadlines, priorities and changes of pending events. The store must be a
 * {@link LeasingEventStore} with {@link EventControl} and {@link EventAdministration}.
 */
@Experimental
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public abstract class ControlContract {

    private static final Duration LEASE = Duration.ofMinutes(5);
    private static final Duration HOUR = Duration.ofHours(1);

    private StoreFixture db;
    private LeasingEventStore store;
    private EventControl control; // of the same store
    private EventAdministration admin; // of the same store
    private int claims;

    /** Returns a new, empty table with its store. */
    protected abstract StoreFixture createFixture() throws SQLException;

    @BeforeEach
    void createTable() throws SQLException {
        db = createFixture();
        store = db.store();
        control = store.capability(EventControl.class).orElseThrow();
        admin = EventAdministration.of(store);
    }

    private static EventEnvelope.Builder event() {
        return EventEnvelope.builder("T").payloadJson("{}");
    }

    private static EventEnvelope keyed(String key) {
        return event().dedupKey(key).build();
    }

    private List<ClaimedEvent> claim(Instant now, int limit) {
        Claim claim = Claim.startingNow("claim-" + ++claims, LEASE);
        return db.call(connection -> store.claim(connection, claim, ClaimRequest.of(now, now.minus(LEASE), limit)));
    }

    private List<String> claimIds(Instant now, int limit) {
        return claim(now, limit).stream().map(event -> event.event().eventId()).toList();
    }

    private Map<String, String> write(EventEnvelope... events) {
        return db.call(connection -> control.insertUnlessTaken(connection, List.of(events), null));
    }

    private void finish(EventEnvelope event, EventStatus status, Instant at) {
        Claim claim = Claim.startingNow("finish-" + ++claims, LEASE);
        Instant longAfter = db.now().plus(HOUR);
        db.inTransaction(connection -> {
            assertThat(store.claimOne(connection, claim, event.eventId(), longAfter, longAfter.minus(LEASE), null))
                    .isPresent();
            Mark mark = status == EventStatus.DONE
                    ? Mark.done(event.eventId(), claim.token())
                    : Mark.dead(event.eventId(), claim.token(), true, "failed");
            assertThat(store.mark(connection, List.of(mark), at)).containsExactly(event.eventId());
        });
    }

    // ---- stored values ----

    @Test
    void an_event_is_restored_as_it_was_written() {
        EventEnvelope event = event().dedupKey("Order 7 ✓")
                .dedupFor(Duration.ofMillis(1234))
                .priority(9)
                .expiresAt(db.now().plus(HOUR))
                .build();

        write(event);

        ClaimedEvent claimed = claim(db.now(), 1).get(0);
        assertThat(EventEnvelope.restore(claimed.event())).isEqualTo(event);
        assertThat(EventEnvelope.restore(claimed.event()).expiresAt()).isEqualTo(event.expiresAt());
    }

    @Test
    void events_of_all_kinds_are_inserted_in_one_call() {
        Instant later = db.now().plus(HOUR);
        EventEnvelope plain = event().build();
        EventEnvelope delayed = event().availableAt(later).build();
        EventEnvelope keyed = keyed("k");
        EventEnvelope urgent = event().priority(3).build();
        Claim birth = Claim.startingNow("birth", LEASE);

        db.inTransaction(connection ->
                store.insertAll(connection, List.of(plain, delayed, keyed, urgent, event().build()), birth));

        assertThat(db.count("1 = 1")).isEqualTo(5);
        assertThat(db.row(plain.eventId()).lockedBy()).isEqualTo("birth");
        assertThat(db.row(keyed.eventId()).lockedBy()).isEqualTo("birth");
        assertThat(db.row(delayed.eventId()).lockedBy()).isNull();
        assertThat(nextDue(db.now())).contains(later);
    }

    // ---- time ----

    @Test
    void an_event_cannot_be_claimed_before_it_is_due() {
        Instant due = db.now().plus(HOUR);
        EventEnvelope event = event().availableAt(due).build();
        write(event);

        assertThat(claim(due.minusNanos(1000), 10)).isEmpty();
        assertThat(claimIds(due, 10)).containsExactly(event.eventId());
    }

    @Test
    void the_next_due_time_is_that_of_an_unfinished_event_that_nobody_holds() {
        Instant now = db.now();
        assertThat(nextDue(now)).isEmpty();
        EventEnvelope first = event().availableAt(now.plusSeconds(10)).build();
        EventEnvelope second = event().availableAt(now.plusSeconds(20)).build();
        write(second, first, event().build());

        assertThat(nextDue(db.now())).contains(now.plusSeconds(10));
        claim(now.plusSeconds(10), 2);
        assertThat(nextDue(db.now())).contains(now.plusSeconds(20));
        assertThat(nextDue(now.plusSeconds(20))).isEmpty();
    }

    private Optional<Instant> nextDue(Instant now) {
        return db.call(connection -> control.nextDue(connection, now));
    }

    @Test
    void an_event_that_nobody_started_by_its_deadline_is_dead() {
        Instant deadline = db.now().plusSeconds(60);
        EventEnvelope expires =
                event().expiresAt(deadline).availableAt(deadline.plus(HOUR)).build();
        EventEnvelope held = event().expiresAt(deadline).build();
        EventEnvelope without = event().build();
        write(held, expires, without);
        claim(db.now(), 10);

        assertThat(expire(deadline)).isEmpty();
        assertThat(expire(deadline.plusMillis(1))).containsExactly(expires.eventId());

        assertThat(db.row(expires.eventId()))
                .isEqualTo(new StoreFixture.Row(EventStatus.DEAD, 0, "Expired: by a test", null));
        assertThat(db.row(held.eventId()).status()).isEqualTo(EventStatus.NEW);
        assertThat(expire(deadline.plus(HOUR))).containsExactly(held.eventId()); // its lease has expired by then
    }

    private List<String> expire(Instant now) {
        return db.call(connection -> control.expire(connection, now, now.minus(LEASE), "Expired: by a test", 10));
    }

    // ---- identity ----

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

    // ---- changes ----

    @Test
    void a_pending_event_is_found_by_id_and_by_key_and_cancelled_once() {
        EventEnvelope event = keyed("k");
        write(event);

        Pending found = find(EventRef.key("k")).orElseThrow();
        assertThat(found).isEqualTo(new Pending(event.eventId(), EventStatus.NEW, null, "k"));
        assertThat(find(EventRef.id(event.eventId()))).contains(found);
        assertThat(cancel(found)).isTrue();
        assertThat(cancel(found)).isFalse();

        assertThat(find(EventRef.key("k"))).isEmpty();
        assertThat(write(keyed("k"))).isEmpty();
    }

    @Test
    void an_event_that_was_claimed_since_it_was_found_is_not_changed() {
        EventEnvelope event = keyed("k");
        write(event);
        Pending found = find(EventRef.key("k")).orElseThrow();
        claim(db.now(), 1);

        assertThat(cancel(found)).isFalse();
        assertThat(reschedule(found, Instant.EPOCH)).isFalse();
        assertThat(find(EventRef.key("k")).orElseThrow().lockedBy()).isNotNull();
        finish(event, EventStatus.DONE, db.now());
        assertThat(find(EventRef.key("k"))).isEmpty();
        assertThat(find(EventRef.id(event.eventId())).orElseThrow().status()).isEqualTo(EventStatus.DONE);
    }

    @Test
    void a_rescheduled_event_is_due_at_its_new_time() {
        Instant due = db.now().plus(HOUR);
        EventEnvelope event = keyed("k");
        write(event);
        Pending found = find(EventRef.key("k")).orElseThrow();

        assertThat(reschedule(found, due)).isTrue();

        assertThat(claim(due.minusNanos(1000), 1)).isEmpty();
        assertThat(claimIds(due, 1)).containsExactly(event.eventId());
    }

    @Test
    void a_cancelled_event_is_back_after_a_rollback() throws SQLException {
        EventEnvelope event = keyed("k");
        write(event);
        Pending found = find(EventRef.key("k")).orElseThrow();

        try (Connection connection = db.open()) {
            assertThat(control.cancel(connection, found)).isTrue();
            connection.rollback();
        }

        assertThat(claimIds(db.now(), 1)).containsExactly(event.eventId());
    }

    @Test
    void a_claim_passes_over_an_event_that_an_open_transaction_cancels() throws SQLException {
        EventEnvelope cancelled = keyed("k");
        EventEnvelope other = event().build();
        write(cancelled, other);
        Pending found = find(EventRef.key("k")).orElseThrow();

        try (Connection connection = db.open()) {
            assertThat(control.cancel(connection, found)).isTrue();
            assertThat(claimIds(db.now(), 10)).containsExactly(other.eventId());
            connection.commit();
        }

        assertThat(claimIds(db.now(), 10)).isEmpty();
    }

    private Optional<Pending> find(EventRef event) {
        return db.call(connection -> control.find(connection, event, false));
    }

    private boolean reschedule(Pending found, Instant availableAt) {
        return db.call(connection -> control.reschedule(connection, found, availableAt));
    }

    private boolean cancel(Pending found) {
        return db.call(connection -> control.cancel(connection, found));
    }

    // ---- priority ----

    @Test
    void larger_priorities_are_claimed_first_and_a_quarter_goes_by_age() {
        List<EventEnvelope> plain =
                IntStream.range(0, 20).mapToObj(i -> event().build()).toList();
        plain.forEach(this::write);
        EventEnvelope low = event().priority(1).build();
        EventEnvelope high = event().priority(9).build();
        write(low, high);
        List<EventEnvelope> middle = IntStream.range(0, 10)
                .mapToObj(i -> event().priority(5).build())
                .toList();
        middle.forEach(this::write);

        List<String> claimed = claimIds(db.now(), 8);

        assertThat(claimed).hasSize(8);
        assertThat(claimed.subList(0, 6))
                .containsExactly(
                        high.eventId(),
                        middle.get(0).eventId(),
                        middle.get(1).eventId(),
                        middle.get(2).eventId(),
                        middle.get(3).eventId(),
                        middle.get(4).eventId());
        assertThat(claimed.subList(6, 8))
                .containsExactly(plain.get(0).eventId(), plain.get(1).eventId());
    }

    @Test
    void the_part_by_age_goes_to_the_oldest_whether_it_was_tried_before_or_not() {
        List<String> tried = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            EventEnvelope event = event().build();
            write(event);
            tried.add(event.eventId());
        }
        Instant now = db.now();
        claim(now, 6);
        db.inTransaction(connection -> {
            List<Mark> failed = tried.stream()
                    .map(id -> Mark.retry(id, "claim-" + claims, true, Duration.ZERO, "x"))
                    .toList();
            assertThat(store.mark(connection, failed, now)).hasSize(6);
        });
        for (int i = 0; i < 20; i++) {
            write(event().build());
            write(event().priority(9).build());
        }

        for (int i = 0; i < 6; i++) {
            assertThat(claimIds(db.now(), 4)).filteredOn(tried::contains).hasSize(1);
        }
    }

    @Test
    void a_claim_is_full_although_the_oldest_events_have_the_priorities() {
        for (int i = 0; i < 6; i++) {
            write(event().priority(2).build());
        }
        for (int i = 0; i < 6; i++) {
            write(event().build());
        }

        assertThat(claim(db.now(), 8)).hasSize(8);
        assertThat(claim(db.now(), 8)).hasSize(4);
    }

    @Test
    void small_claims_do_not_starve_plain_events() {
        EventEnvelope plain = event().build();
        write(plain);
        for (int i = 0; i < 12; i++) {
            write(event().priority(9).build());
        }

        List<String> claimed = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            claimed.addAll(claimIds(db.now(), 1));
        }

        assertThat(claimed).hasSize(4);
        assertThat(claimed).contains(plain.eventId());
    }
}
