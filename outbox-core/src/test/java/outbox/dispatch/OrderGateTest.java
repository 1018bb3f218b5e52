package outbox.dispatch;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.order.Ordering;
import outbox.order.Ordering.WhenDead;

import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;

@Timeout(60)
class OrderGateTest {

    private OrderGateRig rig = new OrderGateRig(Ordering.perAggregate());

    @AfterEach
    void close() {
        rig.close();
    }

    @Test
    void an_event_is_ready_when_the_outcome_of_the_one_before_it_is_written() {
        Delivery first = rig.add("a", 1);
        Delivery second = rig.add("a", 2);
        Delivery third = rig.add("a", 3);
        assertThat(rig.awaitReady()).isSameAs(first);
        rig.awaitAsked(3);
        assertThat(rig.isNothingReady()).isTrue();

        rig.done(first);
        assertThat(rig.awaitReady()).isSameAs(second);
        assertThat(rig.isNothingReady()).isTrue();
        rig.done(second);
        assertThat(rig.awaitReady()).isSameAs(third);
        rig.done(third);

        rig.assertEmpty();
    }

    @Test
    void what_waits_is_given_back_when_the_one_before_it_failed() {
        Delivery first = rig.add("a", 1);
        Delivery second = rig.add("a", 2);
        assertThat(rig.awaitReady()).isSameAs(first);
        rig.awaitAsked(2);

        rig.retry(first);

        rig.await(() -> rig.released.equals(List.of(second)));
        rig.assertEmpty();
    }

    @Test
    void after_an_outcome_that_was_not_ours_to_write_the_database_is_asked_again() {
        Delivery first = rig.add("a", 1);
        Delivery second = rig.add("a", 2);
        assertThat(rig.awaitReady()).isSameAs(first);
        rig.awaitAsked(2);

        rig.lostBeforeMark(first);
        rig.awaitAsked(3);
        assertThat(rig.isNothingReady()).isTrue(); // another node holds the first event
        rig.finishedElsewhere("a", 1);

        assertThat(rig.awaitReady()).isSameAs(second);
        rig.done(second);
        rig.assertEmpty();
    }

    @Test
    void an_event_that_was_lost_while_it_waited_holds_up_nobody_behind_it() {
        Delivery first = rig.add("a", 1);
        assertThat(rig.awaitReady()).isSameAs(first);
        // as if it were not committed: the third event also waits behind the first one
        rig.hide("a", 2);
        Delivery third = rig.add("a", 3);
        rig.awaitAsked(2);
        rig.show("a", 2);
        Delivery second = rig.add("a", 2);
        rig.awaitAsked(3);
        rig.finishedElsewhere("a", 2);

        rig.lose(second, () -> rig.done(first));

        assertThat(rig.awaitReady(second)).isSameAs(third);
        rig.done(third);
        rig.assertEmpty();
    }

    @Test
    void an_event_that_was_lost_while_it_was_asked_about_holds_up_nobody_behind_it() {
        Delivery first = rig.add("a", 1);
        assertThat(rig.awaitReady()).isSameAs(first);
        rig.loseDuringQuestion(() -> rig.add("a", 2));
        rig.awaitAsked(2);
        Delivery third = rig.add("a", 3);
        rig.awaitAsked(3);

        rig.lostBeforeMark(first);
        rig.finishedElsewhere("a", 1);
        rig.finishedElsewhere("a", 2);

        assertThat(rig.awaitReady()).isSameAs(third);
        rig.done(third);
        rig.assertEmpty();
    }

    @Test
    void events_behind_a_dead_one_are_parked_with_its_number() {
        rig.close();
        rig = new OrderGateRig(Ordering.perAggregate().whenDead(WhenDead.PARK));
        Delivery first = rig.add("a", 1);
        Delivery second = rig.add("a", 2);
        assertThat(rig.awaitReady()).isSameAs(first);
        rig.awaitAsked(2);

        rig.dead(first);

        rig.await(() -> rig.parked.size() == 1);
        assertThat(rig.parked)
                .hasEntrySatisfying(second, mark -> assertThat(mark.error()).startsWith("Parked: event number 1 "));
        rig.assertEmpty();
    }

    @Test
    void an_event_that_comes_after_a_dead_one_is_parked_with_its_place_in_the_order() {
        rig.close();
        rig = new OrderGateRig(Ordering.perAggregate().whenDead(WhenDead.PARK));
        rig.deadElsewhere("a", 1);
        Delivery second = rig.add("a", 2);

        rig.await(() -> rig.parked.containsKey(second));

        // tells the dispatcher that the table may contain a successor
        assertThat(second.number()).isEqualTo(2);
        rig.assertEmpty();
    }

    @Test
    void while_the_database_does_not_answer_nothing_is_ready_and_nothing_is_lost() {
        rig.failQuestions(5);
        Delivery first = rig.add("a", 1);
        Delivery second = rig.add("a", 2);
        Delivery other = rig.add("b", 1);

        assertThat(List.of(rig.awaitReady(), rig.awaitReady())).containsExactlyInAnyOrder(first, other);
        rig.done(first);
        assertThat(rig.awaitReady()).isSameAs(second);
        rig.done(second);
        rig.done(other);

        assertThat(rig.questionsFailed()).isEqualTo(5);
        rig.assertEmpty();
    }

    @Test
    void an_event_that_is_not_in_the_table_is_dropped() {
        rig.hide("a", 1);
        Delivery first = rig.add("a", 1);

        rig.await(() -> rig.lost.equals(List.of(first)));
        rig.assertEmpty();
    }

    @Test
    void what_fails_with_one_event_leaves_the_others_their_way_out() {
        rig.hide("b", 1);
        rig.hide("c", 1);
        rig.duringNextQuestion(
                () -> { // so that the next query contains both
                    rig.add("b", 1);
                    rig.add("c", 1);
                });
        rig.failNextVanished();
        Delivery first = rig.add("a", 1);

        rig.await(() -> rig.lost.size() == 2);

        assertThat(rig.awaitReady()).isSameAs(first);
        rig.done(first);
        rig.assertEmpty();
    }

    @Test
    void a_close_gives_back_what_waits_and_whatever_comes_later() {
        Delivery first = rig.add("a", 1);
        Delivery second = rig.add("a", 2);
        assertThat(rig.awaitReady()).isSameAs(first);
        rig.foreign("b", 1);
        Delivery stray = rig.add("b", 2);
        rig.awaitAsked(3);

        rig.gate.close();
        Delivery late = rig.add("c", 1);
        rig.done(first);

        rig.await(() -> rig.released.size() == 3);
        assertThat(rig.released).containsExactlyInAnyOrder(second, stray, late);
        assertThat(rig.isNothingReady()).isTrue();
        rig.assertEmpty();
    }
}
