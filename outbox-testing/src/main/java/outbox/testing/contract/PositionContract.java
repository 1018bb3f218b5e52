package outbox.testing.contract;

import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.model.EventStatus;
import outbox.order.Ordering;
import outbox.order.Ordering.WhenDead;
import outbox.spi.EventOrder.Position;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;

/** Contract tests for positions: which unfinished and which dead event come before an event. */
abstract class PositionContract extends OrderedStoreContract {

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
}
