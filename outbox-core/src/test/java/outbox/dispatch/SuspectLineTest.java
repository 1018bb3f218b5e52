package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.dispatch.QueuedEvent.Source;
import outbox.internal.Scheduler;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

import static org.assertj.core.api.Assertions.assertThat;

class SuspectLineTest {

    private final DeliveryQueues queues = new DeliveryQueues(1_000, 1_000, 1 << 20);

    @Test
    void the_next_suspect_has_its_turn_when_the_outcome_of_the_one_before_is_written() throws Exception {
        Delivery first = suspect(0);
        Delivery second = suspect(0);
        Delivery plain = plain();
        List.of(first, second, plain).forEach(queues::offer);

        assertThat(queues.take()).isSameAs(first);
        assertThat(queues.take()).isSameAs(plain);
        queues.remove(plain);
        assertThat(takeUnlessEmpty()).isNull();

        queues.remove(first);
        assertThat(queues.take()).isSameAs(second);
        assertThat(queues.hasTurn(second)).isTrue();
    }

    @Test
    void a_batch_takes_no_suspect() {
        queues.offer(suspect(0));

        assertThat(queues.takeNow()).isNull();
    }

    @Test
    void one_that_must_be_alone_waits_for_what_is_at_work_and_nothing_else_starts() throws Exception {
        Delivery running = plain();
        Delivery alone = suspect(1);
        queues.offer(running);
        assertThat(queues.take()).isSameAs(running);
        queues.offer(alone);

        assertThat(takeUnlessEmpty()).isNull();
        queues.offer(plain());
        assertThat(takeUnlessEmpty()).isNull();
        queues.remove(running);

        assertThat(queues.take()).isSameAs(alone);
    }

    @Test
    void one_with_more_attempts_comes_first_and_keeps_others_out() throws Exception {
        Delivery one = suspect(1);
        Delivery two = suspect(2);
        Delivery none = suspect(0);
        List.of(none, one, two).forEach(queues::offer);

        assertThat(queues.take()).isSameAs(two);
        queues.offer(plain());
        assertThat(takeUnlessEmpty()).isNull();

        queues.remove(two);
        assertThat(takeUnlessEmpty()).isNotNull(); // other events get their share
    }

    @Test
    void after_a_run_alone_those_that_wait_have_as_much_time_as_it_took() throws Exception {
        Delivery alone = suspect(2);
        queues.offer(alone);
        queues.offer(suspect(1));
        assertThat(queues.take()).isSameAs(alone);
        List<Delivery> waiting = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            waiting.add(plain());
            queues.offer(waiting.get(i));
        }
        long start = System.nanoTime();
        while (System.nanoTime() - start < 200_000_000L) {
            Thread.onSpinWait();
        }
        queues.remove(alone);

        List<Delivery> taken = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            taken.add(Objects.requireNonNull(queues.take()));
        }

        assertThat(taken).containsExactlyElementsOf(waiting);
    }

    @Test
    void one_that_waits_at_its_destination_loses_its_turn_and_comes_first_again() throws Exception {
        Delivery first = suspect(0);
        Delivery second = suspect(0);
        Delivery third = suspect(0);
        List.of(first, second, third).forEach(queues::offer);
        assertThat(queues.take()).isSameAs(first);

        queues.suspend(first);
        assertThat(queues.take()).isSameAs(second);
        queues.resume(first);
        assertThat(takeUnlessEmpty()).isNull();
        queues.remove(second);

        assertThat(queues.take()).isSameAs(first);
    }

    @Test
    void one_that_waits_for_a_place_at_its_listener_keeps_its_turn() throws Exception {
        Delivery first = suspect(0);
        queues.offer(first);
        queues.offer(suspect(0));
        assertThat(queues.take()).isSameAs(first);

        queues.suspendInTurn(first);
        assertThat(takeUnlessEmpty()).isNull();
        queues.resume(first);

        assertThat(queues.take()).isSameAs(first);
    }

    @Test
    void with_one_worker_cold_events_start_as_they_came() throws Exception {
        DeliveryQueues inOrder = new DeliveryQueues(1_000, 1_000, 1 << 20, true, Scheduler.system());
        List<Delivery> offered = List.of(plain(), suspect(0), suspect(2), plain(), suspect(1), plain());
        offered.forEach(inOrder::offer);

        List<Delivery> taken = new ArrayList<>();
        for (int i = 0; i < offered.size(); i++) {
            Delivery next = Objects.requireNonNull(inOrder.take());
            taken.add(next);
            inOrder.remove(next);
        }

        assertThat(taken).containsExactlyElementsOf(offered);
        assertThat(inOrder.muchSuspectRoom()).isEqualTo(Integer.MAX_VALUE);
    }

    @Test
    void with_one_worker_nothing_overtakes_a_suspect_that_waits_for_its_turn() throws Exception {
        DeliveryQueues inOrder = new DeliveryQueues(1_000, 1_000, 1 << 20, true, Scheduler.system());
        Delivery first = suspect(0);
        Delivery second = suspect(0);
        List.of(first, second, plain()).forEach(inOrder::offer);
        assertThat(inOrder.take()).isSameAs(first);

        inOrder.wakeAll(1);
        assertThat(inOrder.take()).isNull();
        inOrder.remove(first);

        assertThat(inOrder.take()).isSameAs(second);
    }

    @Test
    void suspects_have_a_hundred_places_of_their_own() {
        int taken = 0;
        while (queues.offer(suspect(0))) {
            taken++;
        }

        assertThat(taken).isEqualTo(100);
        assertThat(queues.muchColdRoom()).isEqualTo(1_000);
        assertThat(queues.muchSuspectRoom()).isZero();
        assertThat(queues.drain()).hasSize(100);
        assertThat(queues.muchSuspectRoom()).isEqualTo(100);
    }

    @Test
    void suspects_take_a_quarter_of_the_bytes() {
        int taken = 0;
        while (queues.offer(suspect(0, "\"" + "x".repeat(64 * 1024 - 2) + "\""))) {
            taken++;
        }

        assertThat(taken).isEqualTo(4);
        assertThat(queues.offer(plain())).isTrue();
    }

    /** Returns null if the queue is empty, because a woken taker does not wait. */
    private @Nullable Delivery takeUnlessEmpty() throws InterruptedException {
        queues.wakeAll(1);
        Delivery taken = queues.take();
        if (taken != null) {
            queues.wakeAll(-1);
        }
        return taken;
    }

    private static Delivery suspect(int attempts) {
        return suspect(attempts, "{}");
    }

    private static Delivery suspect(int attempts, String payload) {
        Delivery suspect = new Delivery(
                new QueuedEvent(EventEnvelope.ofJson("T", payload), Source.COLD, attempts),
                null,
                true,
                Scheduler.system());
        suspect.setRunsAlone(attempts > 0);
        return suspect;
    }

    private static Delivery plain() {
        return new Delivery(
                new QueuedEvent(EventEnvelope.ofJson("T", "{}"), Source.COLD, 0), null, false, Scheduler.system());
    }
}
