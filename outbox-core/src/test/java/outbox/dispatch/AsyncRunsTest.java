package outbox.dispatch;

import org.junit.jupiter.api.Test;
import outbox.AsyncEventListener;
import outbox.EventEnvelope;
import outbox.dispatch.QueuedEvent.Source;
import outbox.internal.Scheduler;

import java.util.concurrent.CompletableFuture;

import static org.assertj.core.api.Assertions.assertThat;

class AsyncRunsTest {

    private final DeliveryQueues queues = new DeliveryQueues(100, 100, 1 << 20);
    private final AsyncRuns runs = new AsyncRuns(queues);
    private final AsyncEventListener listener = event -> CompletableFuture.completedFuture("ok");

    @Test
    void a_listener_with_nothing_to_do_is_forgotten() {
        for (int i = 0; i < 1000; i++) {
            AsyncEventListener fresh = new Fresh(i);
            assertThat(runs.enter(fresh, 1, delivery())).isTrue();
            assertThat(runs.isIdle()).isFalse();
            runs.leave(fresh);
            assertThat(runs.isIdle()).isTrue();
        }
    }

    @Test
    void listeners_are_told_apart_even_if_they_are_equal() {
        assertThat(runs.enter(new Fresh(1), 1, delivery())).isTrue();
        assertThat(runs.enter(new Fresh(1), 1, delivery())).isTrue();
    }

    @Test
    void a_place_goes_to_the_delivery_that_has_waited_longest() {
        Delivery first = delivery();
        Delivery second = delivery();
        runs.enter(listener, 1, delivery());
        assertThat(runs.enter(listener, 1, first)).isFalse();
        assertThat(runs.enter(listener, 1, second)).isFalse();
        assertThat(queues.takeNow()).isNull();
        assertThat(queues.depth(Source.HOT)).isEqualTo(2);

        runs.leave(listener);

        assertThat(queues.takeNow()).isSameAs(first);
        assertThat(queues.takeNow()).isNull();
        assertThat(runs.takeGranted(second)).isNull();
        assertThat(runs.takeGranted(first)).isSameAs(listener);
        assertThat(runs.takeGranted(first)).isNull();
        assertThat(runs.enter(listener, 1, delivery())).isFalse(); // the place is taken
        runs.leave(listener);
        assertThat(queues.takeNow()).isSameAs(second);
    }

    @Test
    void what_waits_can_be_taken_out_and_its_room_is_free() {
        Delivery granted = delivery();
        Delivery waiting = delivery();
        runs.enter(listener, 1, delivery());
        runs.enter(listener, 1, granted);
        runs.enter(listener, 1, waiting);
        runs.leave(listener);

        assertThat(runs.drain()).containsExactly(waiting);
        assertThat(queues.drain()).containsExactly(granted);
        assertThat(runs.isIdle()).isFalse();
        runs.cancel(granted);
        runs.cancel(waiting); // has no run to cancel

        assertThat(runs.isIdle()).isTrue();
        assertThat(queues.isEmpty()).isTrue();
    }

    private record Fresh(int number) implements AsyncEventListener {
        @Override
        public CompletableFuture<?> onEventAsync(EventEnvelope event) {
            return CompletableFuture.completedFuture("ok");
        }
    }

    private static Delivery delivery() {
        return new Delivery(
                new QueuedEvent(EventEnvelope.ofJson("t", "{}"), Source.HOT, 0), null, false, Scheduler.system());
    }
}
