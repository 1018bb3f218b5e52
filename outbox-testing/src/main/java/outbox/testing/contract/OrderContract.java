package outbox.testing.contract;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.EventEnvelope;
import outbox.Experimental;
import outbox.OutboxException;
import outbox.admin.EventAdministration;
import outbox.admin.EventAdministration.Replay;
import outbox.model.EventStatus;
import outbox.order.Ordering;
import outbox.order.Ordering.WhenDead;
import outbox.spi.Claim;
import outbox.spi.ClaimRequest;
import outbox.spi.ClaimedEvent;
import outbox.spi.EventOrder;
import outbox.spi.EventOrder.BlockedAggregate;
import outbox.spi.EventOrder.Position;
import outbox.spi.LeasingEventStore;
import outbox.spi.Mark;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/**
 * Contract tests for a store that numbers its events. The store must have {@link EventOrder} and
 * {@link EventAdministration}.
 */
@Experimental
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public abstract class OrderContract {

    private static final Duration LEASE = Duration.ofMinutes(5);
    private static final Duration NO_WAIT = Duration.ofSeconds(10);
    private static final Ordering ALL = Ordering.perAggregate();

    private StoreFixture db;
    private LeasingEventStore store;
    private EventOrder order; // of the same store
    private int claims;

    /** Returns a new, empty table with its store. */
    protected abstract StoreFixture createFixture() throws SQLException;

    /**
     * Returns whether a claim skips rows that another transaction has locked. Return false for a database that waits
     * for the lock and gives up after a timeout.
     */
    protected boolean passesOverLockedRows() {
        return true;
    }

    @BeforeEach
    void createTable() throws SQLException {
        db = createFixture();
        store = db.store();
        order = store.capability(EventOrder.class).orElseThrow();
    }

    // ---- positions ----

    @Test
    void events_are_numbered_as_they_were_written_also_within_one_call() {
        List<EventEnvelope> events = new ArrayList<>(
                IntStream.range(0, 1200).mapToObj(i -> event("a")).toList());
        // the order of writing must differ from the order of the ids
        Collections.shuffle(events, new Random(7));
        db.insert(events.subList(0, 700));
        db.insert(events.subList(700, 1200));

        Map<String, Position> positions = positions(ALL, events);

        assertThat(events).extracting(event -> at(positions, event).number()).isSorted();
        assertThat(positions.values()).extracting(Position::number).allMatch(number -> number > 0);
        assertThat(events.subList(1, 1200))
                .extracting(event -> at(positions, event).unfinishedBefore())
                .containsExactlyElementsOf(events.subList(0, 1199).stream()
                        .map(event -> at(positions, event).number())
                        .toList());
    }

    @Test
    void a_place_tells_the_nearest_unfinished_and_the_nearest_dead_event_before() {
        EventEnvelope dead = given("a", EventStatus.DEAD);
        EventEnvelope waiting = given("a", EventStatus.NEW);
        EventEnvelope failed = given("a", EventStatus.RETRY);
        EventEnvelope done = given("a", EventStatus.DONE);
        EventEnvelope last = given("a", EventStatus.NEW);
        given("a", EventStatus.DEAD);

        Map<String, Position> positions = positions(ALL, List.of(dead, waiting, failed, done, last));

        long d = at(positions, dead).number();
        assertThat(at(positions, dead)).isEqualTo(new Position(d, 0, 0));
        assertThat(at(positions, waiting).unfinishedBefore()).isZero();
        assertThat(at(positions, waiting).deadBefore()).isEqualTo(d);
        assertThat(at(positions, failed).unfinishedBefore())
                .isEqualTo(at(positions, waiting).number());
        assertThat(at(positions, done).unfinishedBefore())
                .isEqualTo(at(positions, failed).number());
        assertThat(at(positions, last).unfinishedBefore())
                .isEqualTo(at(positions, failed).number());
        assertThat(at(positions, last).deadBefore()).isEqualTo(d);
    }

    @Test
    void only_events_of_the_same_type_and_id_of_aggregate_come_before() {
        EventEnvelope first = EventEnvelope.builder("T")
                .aggregateType("Order")
                .aggregateId("1")
                .payloadJson("{}")
                .build();
        EventEnvelope otherType = EventEnvelope.builder("T")
                .aggregateType("Invoice")
                .aggregateId("1")
                .payloadJson("{}")
                .build();
        EventEnvelope otherId = EventEnvelope.builder("T")
                .aggregateType("Order")
                .aggregateId("2")
                .payloadJson("{}")
                .build();
        EventEnvelope second = EventEnvelope.builder("T")
                .aggregateType("Order")
                .aggregateId("1")
                .payloadJson("{}")
                .build();
        EventEnvelope none = EventEnvelope.ofJson("T", "{}");
        EventEnvelope noneEither = EventEnvelope.ofJson("T", "{}");
        db.insert(List.of(first, otherType, otherId, second, none, noneEither));

        Map<String, Position> positions = positions(ALL, List.of(first, otherType, otherId, second, none, noneEither));

        assertThat(at(positions, second).unfinishedBefore())
                .isEqualTo(at(positions, first).number());
        for (EventEnvelope free : List.of(first, otherType, otherId, none, noneEither)) {
            assertThat(at(positions, free).unfinishedBefore()).isZero();
        }
    }

    @Test
    void events_of_types_without_order_make_nobody_wait() {
        EventEnvelope a = event("A", "1");
        EventEnvelope b = event("B", "1");
        EventEnvelope c = event("A", "1");
        db.insert(List.of(a, b, c));
        List<EventEnvelope> both = List.of(a, c);

        for (Ordering ordering : List.of(
                ALL.onlyTypes(List.of("A")), ALL.onlyTypes(List.of("A", "Z")), ALL.exceptTypes(List.of("B", "Z")))) {
            Map<String, Position> positions = positions(ordering, both);
            assertThat(at(positions, c).unfinishedBefore())
                    .as(ordering.toString())
                    .isEqualTo(at(positions, a).number());
        }
        assertThat(at(positions(ALL.onlyTypes(List.of("A")).whenDead(WhenDead.SKIP), List.of(b, c)), b)
                        .number())
                .isPositive();
        assertThat(at(positions(ALL, both), c).unfinishedBefore())
                .isEqualTo(at(positions(ALL, List.of(b)), b).number());
    }

    @Test
    void an_event_that_does_not_exist_has_no_place() {
        EventEnvelope there = given("a", EventStatus.NEW);

        Map<String, Position> positions = positions(ALL, List.of(there, event("a")));

        assertThat(positions).containsOnlyKeys(there.eventId());
        assertThat(positions(ALL, List.of())).isEmpty();
    }

    // ---- claiming ----

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
            assertThat(store.claim(elsewhere, claim(), ClaimRequest.of(now, now.minus(LEASE), 10).inOrder(ALL)))
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

    // ---- the operator ----

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

    // ---- helpers ----

    private static EventEnvelope event(String aggregateId) {
        return event("T", aggregateId);
    }

    private static EventEnvelope event(String type, String aggregateId) {
        return EventEnvelope.builder(type)
                .aggregateType("Order")
                .aggregateId(aggregateId)
                .payloadJson("{}")
                .build();
    }

    private EventEnvelope given(String aggregateId, EventStatus status) {
        return given(aggregateId, status, "boom");
    }

    private EventEnvelope given(String aggregateId, EventStatus status, String error) {
        EventEnvelope event = event(aggregateId);
        db.insert(event);
        become(event, status, error);
        return event;
    }

    private void become(EventEnvelope event, EventStatus status, String error) {
        if (status == EventStatus.NEW) {
            return;
        }
        Claim claim = claim();
        Instant now = db.now();
        Optional<ClaimedEvent> held =
                db.call(connection -> store.claimOne(connection, claim, event.eventId(), now, now.minus(LEASE), null));
        assertThat(held).isPresent();
        mark(
                switch (status) {
                    case DONE -> Mark.done(event.eventId(), claim.token());
                    case DEAD -> Mark.dead(event.eventId(), claim.token(), true, error);
                    default -> Mark.retry(event.eventId(), claim.token(), true, Duration.ZERO, error);
                });
    }

    private void mark(Mark mark) {
        Instant now = db.now();
        Set<String> written = db.call(connection -> store.mark(connection, List.of(mark), now));
        assertThat(written).hasSize(1);
    }

    private void replay(EventEnvelope event) {
        db.inTransaction(connection -> EventAdministration.of(store)
                .replay(connection, List.of(event.eventId()), Replay.dead("r", store.now(connection))));
    }

    private int skip(List<String> eventIds) {
        return db.call(connection -> order.skip(connection, eventIds));
    }

    private List<BlockedAggregate> blocked(int limit) {
        return db.call(connection -> order.blockedAggregates(connection, limit));
    }

    private Claim claim() {
        return new Claim("claim/" + ++claims, Long.MAX_VALUE);
    }

    /** Releases the events of the last claim. */
    private void release() {
        String token = "claim/" + claims;
        db.inTransaction(connection -> store.release(connection, token, db.lockedBy(token)));
    }

    private List<EventEnvelope> claimed(Ordering ordering, int limit) {
        return claimedUnder(claim(), ordering, limit);
    }

    private List<EventEnvelope> claimedUnder(Claim claim, Ordering ordering, int limit) {
        Instant now = db.now();
        return db
                .call(connection ->
                        store.claim(connection, claim, ClaimRequest.of(now, now.minus(LEASE), limit).inOrder(ordering)))
                .stream()
                .map(ClaimedEvent::event)
                .map(EventEnvelope::restore)
                .toList();
    }

    private Map<String, Position> positions(Ordering ordering, List<EventEnvelope> events) {
        List<String> ids = events.stream().map(EventEnvelope::eventId).toList();
        return db.call(connection -> order.positions(connection, ids, ordering));
    }

    private static Position at(Map<String, Position> positions, EventEnvelope event) {
        return Objects.requireNonNull(positions.get(event.eventId()), event.eventId());
    }

    private static Duration since(long startNanos) {
        return Duration.ofNanos(System.nanoTime() - startNanos);
    }
}
