package outbox.testing.contract;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.EventEnvelope;
import outbox.OutboxException;
import outbox.model.EventStatus;
import outbox.order.Ordering;
import outbox.order.Ordering.WhenDead;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.Mark;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** Contract tests for claims in order: only the first unfinished event of an aggregate is claimed. */
abstract class OrderedClaimContract extends PositionContract {

    private static final Duration NO_WAIT = Duration.ofSeconds(10);

    /**
     * Returns whether a claim skips rows that another transaction has locked. Return false for a database that waits
     * for the lock and gives up after a timeout.
     */
    protected boolean passesOverLockedRows() {
        return true;
    }

    @Test
    void only_the_first_unfinished_event_of_an_aggregate_is_claimed() {
        EventEnvelope a1 = event("a");
        EventEnvelope b1 = event("b");
        EventEnvelope free = EventEnvelope.ofJson("T", "{}");
        EventEnvelope alsoFree = EventEnvelope.ofJson("T", "{}");
        EventEnvelope a2 = event("a");
        db.insert(List.of(a1, event("a"), b1, a2, free, alsoFree));

        assertThat(claimed(ALL, 10)).containsExactlyInAnyOrder(a1, b1, free, alsoFree);
        // the first events are claimed, and the later ones wait for them
        assertThat(claimed(ALL, 10)).isEmpty();
    }

    @Test
    void the_next_event_is_claimed_when_the_one_before_is_done_and_not_while_it_waits_for_its_retry() {
        EventEnvelope first = event("a");
        EventEnvelope second = event("a");
        db.insert(List.of(first, second));
        Claim claim = claim();
        claimedUnder(claim, ALL, 10);

        mark(Mark.retry(first.eventId(), claim.token(), true, Duration.ofHours(1), "boom"));
        assertThat(claimed(ALL, 10)).isEmpty();

        db.makeDue(first.eventId(), db.now().minusSeconds(1));
        Claim again = claim();
        assertThat(claimedUnder(again, ALL, 10)).containsExactly(first);
        mark(Mark.done(first.eventId(), again.token()));
        assertThat(claimed(ALL, 10)).containsExactly(second);
    }

    @ParameterizedTest
    @EnumSource(WhenDead.class)
    void a_dead_event_keeps_later_ones_from_being_claimed_only_where_it_blocks(WhenDead policy) {
        given("a", EventStatus.DEAD);
        EventEnvelope next = given("a", EventStatus.NEW);

        List<EventEnvelope> claimed = claimed(ALL.whenDead(policy), 10);

        assertThat(claimed).isEqualTo(policy == WhenDead.BLOCK ? List.of() : List.of(next));
    }

    @Test
    void events_of_types_without_order_are_claimed_as_they_come() {
        EventEnvelope a1 = event("A", "1");
        EventEnvelope b1 = event("B", "1");
        EventEnvelope b2 = event("B", "1");
        EventEnvelope a2 = event("A", "1");
        db.insert(List.of(a1, b1, b2, a2));

        assertThat(claimed(ALL.onlyTypes(List.of("A", "Z")), 10)).containsExactlyInAnyOrder(a1, b1, b2);
        release();
        assertThat(claimed(ALL.exceptTypes(List.of("B")).whenDead(WhenDead.PARK), 10))
                .containsExactlyInAnyOrder(a1, b1, b2);
        release();
        assertThat(claimed(Ordering.off(), 10)).containsExactlyInAnyOrder(a1, b1, b2, a2);
    }

    @Test
    void a_long_queue_of_one_aggregate_does_not_hide_the_others() {
        List<EventEnvelope> events = new ArrayList<>();
        IntStream.range(0, 2000).forEach(i -> events.add(event("long")));
        IntStream.range(0, 20).forEach(i -> events.add(event("short-" + i)));
        db.insert(events);

        assertThat(claimed(ALL, 10)).hasSize(10);
        assertThat(claimed(ALL, 100)).hasSize(11);
    }

    @Test
    void an_event_whose_predecessor_is_being_claimed_elsewhere_is_not_claimed_and_nobody_waits() throws SQLException {
        EventEnvelope first = event("a");
        EventEnvelope other = event("b");
        db.insert(List.of(first, event("a")));
        try (Connection elsewhere = db.open()) {
            store.prepare(elsewhere);
            Instant now = db.now();
            assertThat(store.claim(
                            elsewhere,
                            claim(),
                            ClaimRequest.of(now, now.minus(LEASE), 10).inOrder(ALL)))
                    .hasSize(1);
            db.insert(other);
            long start = System.nanoTime();

            if (passesOverLockedRows()) {
                assertThat(claimed(ALL, 10)).containsExactly(other);
            } else {
                assertThatThrownBy(() -> claimed(ALL, 10)).isInstanceOf(OutboxException.class);
            }
            assertThat(at(positions(ALL, List.of(first)), first).unfinishedBefore())
                    .isZero();

            assertThat(since(start)).isLessThan(NO_WAIT);
            elsewhere.rollback();
        }
    }

    @Test
    void nothing_waits_for_a_business_transaction() throws SQLException {
        EventEnvelope dead = given("b", EventStatus.DEAD);
        EventEnvelope first = event("a");
        EventEnvelope second = event("a");
        EventEnvelope third = event("c");
        db.insert(List.of(first, second, third));
        try (Connection business = db.open()) {
            store.insertAll(business, List.of(event("a"), event("b"), event("c")), null);
            long start = System.nanoTime();

            Claim claim = claim();
            assertThat(claimedUnder(claim, ALL, 10)).containsExactlyInAnyOrder(first, third);
            assertThat(at(positions(ALL, List.of(second)), second).unfinishedBefore())
                    .isPositive();
            List<Mark> done =
                    List.of(Mark.done(first.eventId(), claim.token()), Mark.done(third.eventId(), claim.token()));
            Set<String> removed = db.call(connection -> store.remove(connection, done));
            assertThat(removed).hasSize(2);
            assertThat(skip(List.of(dead.eventId()))).isEqualTo(1);

            assertThat(since(start)).isLessThan(NO_WAIT);
            business.rollback();
        }
    }

    /** Releases the events of the last claim. */
    private void release() {
        String token = "claim/" + claims;
        db.inTransaction(connection -> store.release(connection, token, db.lockedBy(token)));
    }

    private static Duration since(long startNanos) {
        return Duration.ofNanos(System.nanoTime() - startNanos);
    }
}
