package outbox.testing.contract;

import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.Experimental;
import outbox.admin.EventAdministration;
import outbox.admin.EventAdministration.Replay;
import outbox.model.EventStatus;
import outbox.spi.EventOrder;
import outbox.spi.EventOrder.BlockedAggregate;
import outbox.spi.EventOrder.Position;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Contract tests for a store that numbers its events. The store must have {@link EventOrder} and
 * {@link EventAdministration}.
 */
@Experimental
public abstract class OrderContract extends OrderedClaimContract {

    @Test
    void a_skipped_event_has_left_the_order_for_good() {
        EventEnvelope dead = given("a", EventStatus.DEAD);
        EventEnvelope next = given("a", EventStatus.NEW);
        List<String> ids = List.of(dead.eventId(), next.eventId());

        assertThat(skip(ids)).isEqualTo(1);
        assertThat(skip(ids)).isZero();

        assertThat(db.row(dead.eventId()).status()).isEqualTo(EventStatus.DEAD);
        Map<String, Position> positions = positions(ALL, List.of(dead, next));
        assertThat(at(positions, dead).number()).isNegative();
        assertThat(at(positions, next).deadBefore()).isZero();
        replay(dead);
        assertThat(at(positions(ALL, List.of(next)), next).unfinishedBefore()).isZero();
        assertThat(claimed(ALL, 10)).extracting(EventEnvelope::eventId).containsExactlyInAnyOrderElementsOf(ids);
    }

    @Test
    void a_replayed_event_comes_back_to_its_place() {
        EventEnvelope dead = given("a", EventStatus.DEAD);
        EventEnvelope next = given("a", EventStatus.NEW);
        long before = at(positions(ALL, List.of(dead)), dead).number();

        replay(dead);

        Map<String, Position> positions = positions(ALL, List.of(dead, next));
        assertThat(at(positions, dead).number()).isEqualTo(before);
        assertThat(at(positions, next))
                .isEqualTo(new Position(at(positions, next).number(), before, 0));
        assertThat(claimed(ALL, 10)).extracting(EventEnvelope::eventId).containsExactly(dead.eventId());
    }

    @Test
    void aggregates_with_a_dead_event_are_shown_with_what_waits_the_longest_blocked_first() {
        given("fine", EventStatus.NEW);
        given("late", EventStatus.NEW);
        EventEnvelope early = given("early", EventStatus.DEAD, "boom");
        given("early", EventStatus.DEAD, "later");
        given("early", EventStatus.DONE);
        given("early", EventStatus.RETRY);
        given("early", EventStatus.NEW);
        EventEnvelope late = given("late", EventStatus.DEAD, "bang");
        EventEnvelope alone = EventEnvelope.ofJson("T", "{}");
        db.insert(alone);
        become(alone, EventStatus.DEAD, "no aggregate");

        List<BlockedAggregate> blocked = blocked(10);

        assertThat(blocked).extracting(BlockedAggregate::eventId).containsExactly(early.eventId(), late.eventId());
        BlockedAggregate first = blocked.get(0);
        assertThat(first.aggregateId()).isEqualTo("early");
        assertThat(first.aggregateType()).isEqualTo(early.aggregateType());
        assertThat(first.eventType()).isEqualTo("T");
        assertThat(first.lastError()).isEqualTo("boom");
        assertThat(first.waiting()).isEqualTo(2);
        assertThat(first.alsoDead()).isEqualTo(1);
        assertThat(Objects.requireNonNull(first.deadSince()))
                .isBeforeOrEqualTo(Objects.requireNonNull(blocked.get(1).deadSince()));
        assertThat(Duration.between(Objects.requireNonNull(first.oldestWaiting()), db.now()))
                .isBetween(Duration.ZERO, Duration.ofMinutes(1));
        assertThat(blocked.get(1).waiting()).isZero();
        assertThat(blocked.get(1).oldestWaiting()).isNull();
        assertThat(blocked(1)).containsExactly(first);
        skip(List.of(late.eventId()));
        assertThat(blocked(10)).containsExactly(first);
    }

    private void replay(EventEnvelope event) {
        db.inTransaction(connection -> EventAdministration.of(store)
                .replay(connection, List.of(event.eventId()), Replay.dead("r", store.now(connection))));
    }

    private List<BlockedAggregate> blocked(int limit) {
        return db.call(connection -> order.blockedAggregates(connection, limit));
    }
}
