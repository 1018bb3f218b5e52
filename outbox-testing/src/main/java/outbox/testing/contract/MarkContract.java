package outbox.testing.contract;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.EventEnvelope;
import outbox.model.EventStatus;
import outbox.spi.Claim;
import outbox.spi.Mark;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;

/** Contract tests for outcomes: only the holder of an event can write its outcome. */
abstract class MarkContract extends ClaimContract {

    @Test
    void a_poller_whose_lease_ran_out_cannot_mark_the_event() {
        EventEnvelope event = givenClaimed(OURS);
        claim(THEIRS, db.now().plus(LEASE).plusSeconds(5), 10);

        assertThat(mark(Mark.done(event.eventId(), OURS.token()))).isEmpty();
        assertThat(mark(Mark.retry(event.eventId(), OURS.token(), true, Duration.ZERO, "x")))
                .isEmpty();
        assertThat(mark(Mark.dead(event.eventId(), OURS.token(), true, "x"))).isEmpty();
        assertThat(db.<Integer>call(connection -> store.release(connection, OURS.token(), List.of(event.eventId()))))
                .isZero();

        assertThat(db.row(event.eventId())).isEqualTo(new StoreFixture.Row(EventStatus.NEW, 0, null, THEIRS.token()));
    }

    @Test
    void a_mark_of_another_claim_in_the_same_group_changes_nothing_and_a_repeated_mark_counts_once() {
        EventEnvelope event = givenClaimed(OURS);
        Mark ours = Mark.retry(event.eventId(), OURS.token(), true, Duration.ZERO, "ours");
        Mark stale = Mark.retry(event.eventId(), THEIRS.token(), true, Duration.ofHours(1), "stale");

        Set<String> written =
                db.call(connection -> store.mark(connection, List.of(stale, ours, ours, stale), db.now()));

        assertThat(written).containsExactly(event.eventId());
        assertThat(db.row(event.eventId())).isEqualTo(row(EventStatus.RETRY, 1, "ours"));
    }

    @ParameterizedTest
    @EnumSource(
            value = EventStatus.class,
            names = {"DONE", "DEAD"})
    void a_terminal_event_stays_as_it_is(EventStatus terminal) {
        EventEnvelope event = givenClaimed(OURS);
        mark(
                terminal == EventStatus.DONE
                        ? Mark.done(event.eventId(), OURS.token())
                        : Mark.dead(event.eventId(), OURS.token(), true, "poison"));
        StoreFixture.Row before = db.row(event.eventId());

        assertThat(mark(Mark.done(event.eventId(), OURS.token()))).isEmpty();
        assertThat(mark(Mark.retry(event.eventId(), OURS.token(), true, Duration.ZERO, "x")))
                .isEmpty();
        assertThat(mark(Mark.dead(event.eventId(), OURS.token(), true, "x"))).isEmpty();
        assertThat(claim(THEIRS, db.now().plus(LEASE.multipliedBy(3)), 10)).isEmpty();
        assertThat(claimOne(THEIRS, event, OURS)).isEmpty();

        assertThat(db.row(event.eventId())).isEqualTo(before);
    }

    @Test
    void a_group_of_outcomes_is_written_at_once_and_tells_which_were_ours() {
        List<EventEnvelope> events = givenEvents(1500);
        db.insert(events);
        claim(OURS, db.now(), 1499);
        Set<String> ours = db.lockedBy(OURS.token());
        String notOurs = events.stream()
                .map(EventEnvelope::eventId)
                .filter(id -> !ours.contains(id))
                .findFirst()
                .orElseThrow();
        String failing = ours.iterator().next();
        List<Mark> marks = new ArrayList<>();
        for (EventEnvelope event : events) {
            marks.add(
                    event.eventId().equals(failing)
                            ? Mark.retry(failing, OURS.token(), true, Duration.ZERO, "boom")
                            : Mark.done(event.eventId(), OURS.token()));
        }

        Set<String> written = db.call(connection -> store.mark(connection, marks, db.now()));

        assertThat(written).isEqualTo(ours);
        assertThat(db.row(notOurs)).isEqualTo(new StoreFixture.Row(EventStatus.NEW, 0, null, null));
        assertThat(db.row(failing)).isEqualTo(row(EventStatus.RETRY, 1, "boom"));
        assertThat(db.count("status = 1")).isEqualTo(1498);
    }

    @Test
    void a_group_of_failures_is_written_each_with_its_own_text_and_time_and_tells_which_were_ours() {
        List<EventEnvelope> events = givenEvents(1300);
        db.insert(events);
        claim(OURS, db.now(), 600);
        claim(THEIRS, db.now(), 600);
        Set<String> ours = db.lockedBy(OURS.token());
        Set<String> theirs = db.lockedBy(THEIRS.token());
        List<Mark> marks = new ArrayList<>();
        for (int i = 0; i < events.size(); i++) {
            String id = events.get(i).eventId();
            // some marks do not have the token of the holder
            String token = (i % 10 == 0) == ours.contains(id) ? THEIRS.token() : OURS.token();
            marks.add(
                    i % 3 == 0
                            ? Mark.dead(id, token, i % 2 == 0, "dead " + i)
                            : Mark.retry(id, token, i % 2 == 0, Duration.ofMinutes(i), "failed " + i));
        }
        Set<String> held = marks.stream()
                .filter(mark -> (mark.token().equals(OURS.token()) ? ours : theirs).contains(mark.eventId()))
                .map(Mark::eventId)
                .collect(Collectors.toSet());
        Instant now = db.now();

        Set<String> written = db.call(connection -> store.mark(connection, marks, now));

        assertThat(held).hasSizeBetween(600, 1199);
        assertThat(written).isEqualTo(held);
        for (int i = 0; i < 1300; i += 25) {
            Mark mark = marks.get(i);
            StoreFixture.Row row = db.row(mark.eventId());
            if (held.contains(mark.eventId())) {
                assertThat(row).isEqualTo(row(mark.status(), mark.countsAttempt() ? 1 : 0, mark.error()));
            } else {
                assertThat(row.status()).isEqualTo(EventStatus.NEW);
                assertThat(row.attempts()).isZero();
            }
        }
        if (keepsTimeOfDeath()) {
            assertThat(db.count("status = 3 AND done_at IS NULL")).isZero();
        }
        Mark retry = marks.stream()
                .filter(mark -> mark.status() == EventStatus.RETRY && held.contains(mark.eventId()))
                .reduce((first, second) -> second)
                .orElseThrow();
        Claim late = new Claim("late/1", Long.MAX_VALUE);
        assertThat(dueAt(late, now.plus(retry.retryAfter()).minusSeconds(1))).doesNotContain(retry.eventId());
        assertThat(dueAt(late, now.plus(retry.retryAfter()).plusSeconds(1))).contains(retry.eventId());
    }

    private List<String> dueAt(Claim claim, Instant now) {
        return claim(claim, now, 10_000).stream()
                .map(event -> event.event().eventId())
                .toList();
    }

    @Test
    void delivered_events_are_deleted_only_for_who_holds_them() {
        List<EventEnvelope> events = givenEvents(1100);
        db.insert(events);
        claim(OURS, db.now(), 1050);
        List<String> ours = new ArrayList<>(db.lockedBy(OURS.token()));
        mark(Mark.done(ours.get(0), OURS.token()));
        mark(Mark.dead(ours.get(1), OURS.token(), true, "boom"));
        List<Mark> marks = new ArrayList<>();
        events.forEach(event -> marks.add(Mark.done(event.eventId(), OURS.token())));
        marks.add(Mark.done(ours.get(2), THEIRS.token()));
        marks.add(Mark.done("no-such-event", OURS.token()));

        Set<String> removed = db.call(connection -> store.remove(connection, marks));

        assertThat(removed).hasSize(1048).isSubsetOf(ours).doesNotContain(ours.get(0), ours.get(1));
        assertThat(db.count("1 = 1")).isEqualTo(52);
        assertThat(db.lockedBy(OURS.token())).isEmpty();
        Set<String> again = db.call(connection -> store.remove(connection, marks));
        assertThat(again).isEmpty();
    }

    @Test
    void a_group_of_outcomes_does_not_wait_for_a_business_transaction() throws SQLException {
        List<EventEnvelope> events = givenEvents(60);
        db.insert(events);
        claim(OURS, db.now(), 60);
        List<Mark> failed = new ArrayList<>();
        List<Mark> delivered = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            String id = events.get(i).eventId();
            switch (i % 3) {
                case 0 -> failed.add(Mark.retry(id, OURS.token(), true, Duration.ZERO, "boom"));
                case 1 -> failed.add(Mark.dead(id, OURS.token(), true, "boom"));
                default -> delivered.add(Mark.done(id, OURS.token()));
            }
        }
        Instant now = db.now();
        try (Connection business = db.open()) {
            store.insertAll(business, givenEvents(3), null);
            long start = System.nanoTime();

            db.inTransaction(connection -> {
                store.mark(connection, failed, now);
                store.remove(connection, delivered);
            });

            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(10));
            business.rollback();
        }
        assertThat(db.count("status = 2")).isEqualTo(20);
        assertThat(db.count("status = 3")).isEqualTo(20);
        assertThat(db.count("1 = 1")).isEqualTo(40);
    }

    @Test
    void an_error_text_of_any_kind_is_stored() {
        String hostile = "NUL \u0000, lone \ud800, bell \u0007, emoji 🎉, " + "x".repeat(10_000);
        EventEnvelope event = givenClaimed(OURS);

        mark(Mark.dead(event.eventId(), OURS.token(), true, hostile));

        assertThat(db.row(event.eventId()).status()).isEqualTo(EventStatus.DEAD);
        if (!keepsErrors()) {
            return;
        }
        String stored = Objects.requireNonNull(db.row(event.eventId()).lastError());
        assertThat(stored).startsWith("NUL ?, lone ?, bell ?, emoji 🎉, xxx");
        assertThat(stored.codePointCount(0, stored.length())).isLessThanOrEqualTo(4000);
    }
}
