package outbox.testing.contract;

import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.model.EventStatus;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.ClaimedEvent;
import outbox.spi.Mark;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** Contract tests for claims and leases: which claim holds an event, and for how long. */
abstract class ClaimContract extends StoredEventContract {

    // ---- claims ----

    @Test
    void a_claimed_event_is_nobody_elses_until_its_lease_runs_out() {
        EventEnvelope event = givenClaimed(OURS);

        assertThat(claim(THEIRS, db.now(), 10)).isEmpty();
        List<ClaimedEvent> later = claim(THEIRS, db.now().plus(LEASE).plusSeconds(5), 10);

        assertThat(later).extracting(claimed -> claimed.event().eventId()).containsExactly(event.eventId());
        assertThat(later.get(0).suspect()).isTrue();
    }

    @Test
    void an_event_that_was_given_back_is_free_at_once_and_no_suspect() {
        EventEnvelope event = givenClaimed(OURS);

        assertThat(db.<Integer>call(connection -> store.release(connection, OURS.token(), List.of(event.eventId()))))
                .isEqualTo(1);
        List<ClaimedEvent> claimed = claim(THEIRS, db.now(), 10);

        assertThat(claimed).hasSize(1);
        assertThat(claimed.get(0).suspect()).isFalse();
        assertThat(claimed.get(0).event().attempts()).isZero();
        assertThat(db.<Integer>call(connection -> store.release(connection, OURS.token(), List.of(event.eventId()))))
                .isZero();
    }

    @Test
    void a_suspect_that_was_given_back_can_be_claimed_at_once_and_stays_a_suspect() {
        EventEnvelope event = givenClaimed(OURS);
        claim(THEIRS, db.now().plus(LEASE).plusSeconds(5), 10);

        assertThat(releaseSuspects(OURS, event)).isZero();
        assertThat(releaseSuspects(THEIRS, event)).isEqualTo(1);

        if (bearsLeased()) { // this store keeps claim tokens, not only lock times
            assertThat(db.row(event.eventId()).lockedBy()).isEqualTo(THEIRS.token());
        }
        List<ClaimedEvent> claimed = claim(OURS, db.now(), 10);
        assertThat(claimed).hasSize(1);
        assertThat(claimed.get(0).suspect()).isTrue();
        assertThat(claimed.get(0).event().attempts()).isZero();
    }

    private int releaseSuspects(Claim claim, EventEnvelope event) {
        return db.call(connection -> store.releaseSuspects(connection, claim.token(), List.of(event.eventId())));
    }

    @Test
    void an_event_born_leased_is_nobody_elses_from_the_start() {
        EventEnvelope event = json("{}");
        if (!bearsLeased()) {
            assertThatThrownBy(() -> db.inTransaction(connection -> store.insertAll(connection, List.of(event), OURS)))
                    .hasMessageContaining("BORN_LEASED");
            return;
        }
        db.inTransaction(connection -> store.insertAll(connection, List.of(event), OURS));

        assertThat(claim(THEIRS, db.now(), 10)).isEmpty();
        assertThat(mark(Mark.done(event.eventId(), OURS.token()))).containsExactly(event.eventId());
        assertThat(db.row(event.eventId()).status()).isEqualTo(EventStatus.DONE);
    }

    @Test
    void a_claim_takes_no_more_than_asked_oldest_due_time_first() {
        List<EventEnvelope> events = givenEvents(500);
        db.insert(events);
        List<String> ids =
                new ArrayList<>(events.stream().map(EventEnvelope::eventId).toList());
        Collections.shuffle(ids, new Random(3));
        Instant start = db.now().minus(Duration.ofHours(1));
        for (int i = 0; i < ids.size(); i++) {
            db.makeDue(ids.get(i), start.plusSeconds(i));
        }

        List<ClaimedEvent> claimed = claim(OURS, db.now(), 200);

        assertThat(claimed).extracting(event -> event.event().eventId()).containsExactlyElementsOf(ids.subList(0, 200));
    }

    @Test
    void new_events_and_retries_are_claimed_side_by_side() {
        EventEnvelope retried = givenClaimed(OURS);
        mark(Mark.retry(retried.eventId(), OURS.token(), true, Duration.ZERO, "again"));
        EventEnvelope fresh = json("{}");
        db.insert(fresh);

        List<ClaimedEvent> claimed = claimAll();

        assertThat(claimed)
                .extracting(event -> event.event().eventId())
                .containsExactlyInAnyOrder(retried.eventId(), fresh.eventId());
        assertThat(claimed).extracting(event -> event.event().attempts()).containsExactlyInAnyOrder(1, 0);
    }

    @Test
    void events_stored_a_moment_ago_are_left_alone_if_asked() {
        db.insert(json("{}"));
        Instant now = db.now();

        List<ClaimedEvent> skipped = db.call(connection -> store.claim(
                connection, OURS, ClaimRequest.of(now, now.minus(LEASE), 10).skippingRecent(Duration.ofMinutes(1))));

        assertThat(skipped).isEmpty();
    }

    @Test
    void a_transaction_that_commits_late_is_not_passed_over() throws Exception {
        EventEnvelope late = json("{}");
        try (Connection open = db.open()) {
            store.insertNew(open, late);
            db.insert(givenEvents(50));
            assertThat(claimAll()).hasSize(50);
            open.commit();
        }

        assertThat(claimAll()).extracting(event -> event.event().eventId()).containsExactly(late.eventId());
    }

    @Test
    void claimers_on_one_table_never_get_the_same_event() throws Exception {
        db.insert(givenEvents(3000));

        List<List<String>> claims = inParallel(4, barrier -> {
            await(barrier);
            List<String> mine = new ArrayList<>();
            for (int round = 0, empty = 0; empty < 3; round++) {
                Claim claim = new Claim(Thread.currentThread().getName() + "/" + round, Long.MAX_VALUE);
                List<ClaimedEvent> some = db.retrying(() -> claim(claim, db.now(), 50));
                assertThat(some).hasSizeLessThanOrEqualTo(50);
                some.forEach(event -> mine.add(event.event().eventId()));
                empty = some.isEmpty() ? empty + 1 : 0;
            }
            return mine;
        });

        List<String> all = claims.stream().flatMap(List::stream).toList();
        assertThat(all).doesNotHaveDuplicates().hasSize(3000);
    }

    // ---- one event ----

    @Test
    void a_free_event_can_be_claimed_by_its_id() {
        EventEnvelope event = json("{}");
        db.insert(event);

        Optional<ClaimedEvent> claimed = claimOne(OURS, event, null);

        assertThat(claimed).isPresent();
        assertThat(claimed.get().suspect()).isFalse();
        assertThat(claimOne(THEIRS, event, null)).isEmpty();
    }

    @Test
    void an_event_can_be_claimed_anew_by_who_holds_it() {
        EventEnvelope event = givenClaimed(OURS);
        Claim next = new Claim("ours/2", Long.MAX_VALUE);

        Optional<ClaimedEvent> claimed = claimOne(next, event, OURS);

        assertThat(claimed).isPresent();
        assertThat(claimed.get().suspect()).isFalse();
        assertThat(mark(Mark.done(event.eventId(), OURS.token()))).isEmpty();
        assertThat(mark(Mark.done(event.eventId(), next.token()))).hasSize(1);
    }

    @Test
    void an_event_that_is_finished_or_missing_cannot_be_claimed() {
        EventEnvelope event = givenClaimed(OURS);
        mark(Mark.done(event.eventId(), OURS.token()));

        assertThat(claimOne(THEIRS, event, null)).isEmpty();
        assertThat(claimOne(THEIRS, json("{}"), null)).isEmpty();
    }

    @Test
    void a_row_that_another_transaction_has_locked_is_left_out_and_the_others_are_locked() throws SQLException {
        EventEnvelope locked = givenClaimed(OURS);
        EventEnvelope free = givenClaimed(OURS);
        List<String> all = List.of(locked.eventId(), free.eventId(), json("{}").eventId()); // the last has no row
        try (Connection stranger = db.open()) {
            assertThat(store.lockFree(stranger, List.of(locked.eventId()))).isEmpty();

            Set<String> leftOut = db.call(connection -> {
                Set<String> others = store.lockFree(connection, all);
                Mark mark = Mark.done(free.eventId(), OURS.token());
                assertThat(store.mark(connection, List.of(mark), store.now(connection)))
                        .containsExactly(free.eventId());
                return others;
            });

            assertThat(leftOut).isEqualTo(locksRows() ? Set.of(locked.eventId()) : Set.of());
            stranger.rollback();
        }
        assertThat(db.<Set<String>>call(connection -> store.lockFree(connection, all)))
                .isEmpty();
    }

    @Test
    void a_run_is_recorded_only_for_who_holds_the_event() {
        EventEnvelope event = givenClaimed(OURS);

        assertThat(db.<Boolean>call(connection -> store.setAttempts(connection, OURS.token(), event.eventId(), 1)))
                .isTrue();
        assertThat(db.<Boolean>call(connection -> store.setAttempts(connection, THEIRS.token(), event.eventId(), 2)))
                .isFalse();
        mark(Mark.retry(event.eventId(), OURS.token(), false, Duration.ZERO, "counted before"));

        assertThat(db.row(event.eventId()).attempts()).isEqualTo(1);
    }

    @Test
    void a_run_is_forgotten_only_for_who_holds_the_event() {
        EventEnvelope event = givenClaimed(OURS);
        db.inTransaction(connection -> store.setAttempts(connection, OURS.token(), event.eventId(), 1));

        assertThat(db.<Boolean>call(connection -> store.setAttempts(connection, THEIRS.token(), event.eventId(), 0)))
                .isFalse();
        assertThat(db.row(event.eventId()).attempts()).isEqualTo(1);
        assertThat(db.<Boolean>call(connection -> store.setAttempts(connection, OURS.token(), event.eventId(), 0)))
                .isTrue();

        assertThat(db.row(event.eventId()).attempts()).isZero();
    }

    // ---- leases ----

    @Test
    void a_renewed_lease_lasts_from_its_renewal() {
        EventEnvelope event = givenClaimed(OURS);
        Instant later = db.now().plus(LEASE.multipliedBy(2));

        Set<String> renewed =
                db.call(connection -> store.renew(connection, OURS.token(), List.of(event.eventId()), later));

        assertThat(renewed).containsExactly(event.eventId());
        assertThat(claim(THEIRS, later.plus(LEASE).minusSeconds(5), 10)).isEmpty();
        assertThat(claim(THEIRS, later.plus(LEASE).plusSeconds(5), 10)).hasSize(1);
    }

    @Test
    void a_lease_that_was_lost_is_not_renewed() {
        EventEnvelope lost = givenClaimed(OURS);
        Instant later = db.now().plus(LEASE).plusSeconds(5);
        claim(THEIRS, later, 10);
        EventEnvelope kept = givenClaimed(OURS);

        Set<String> renewed = db.call(
                connection -> store.renew(connection, OURS.token(), List.of(lost.eventId(), kept.eventId()), later));

        assertThat(renewed).containsExactly(kept.eventId());
        assertThat(db.row(lost.eventId()).lockedBy()).isEqualTo(THEIRS.token());
    }
}
