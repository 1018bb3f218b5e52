package outbox.testing.contract;

import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.model.EventStatus;
import outbox.spi.Claim;
import outbox.spi.ClaimedEvent;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

import static org.assertj.core.api.Assertions.assertThat;

/** Contract tests for stored values, due times and deadlines. */
abstract class DueTimeContract extends ControlledStoreContract {

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
}
