package outbox.dispatch;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static outbox.fake.Eventually.eventually;

class DefaultInFlightTrackerTest {

    private static final int ROUNDS = 200;

    @Test
    void an_event_is_acquired_once_until_it_is_released() {
        InFlightTracker tracker = new DefaultInFlightTracker();

        assertThat(tracker.tryAcquire("a")).isTrue();
        assertThat(tracker.tryAcquire("a")).isFalse();
        assertThat(tracker.tryAcquire("b")).isTrue();
        tracker.release("a");
        assertThat(tracker.tryAcquire("a")).isTrue();
    }

    @Test
    void releasing_what_was_not_acquired_does_nothing() {
        InFlightTracker tracker = new DefaultInFlightTracker();

        tracker.release("a");

        assertThat(tracker.tryAcquire("a")).isTrue();
    }

    @Test
    void an_entry_past_its_time_to_live_can_be_taken_over_and_lives_anew() {
        InFlightTracker tracker = new DefaultInFlightTracker(20);
        long acquired = System.nanoTime();
        assertThat(tracker.tryAcquire("a")).isTrue();

        eventually(() -> assertThat(tracker.tryAcquire("a")).isTrue());

        assertThat(System.nanoTime() - acquired).isGreaterThan(20_000_000);
    }

    @Test
    void an_entry_within_its_time_to_live_stays() {
        InFlightTracker tracker = new DefaultInFlightTracker(600_000);

        assertThat(tracker.tryAcquire("a")).isTrue();

        assertThat(tracker.tryAcquire("a")).isFalse();
    }

    @Test
    void the_longest_time_to_live_is_for_ever() {
        InFlightTracker tracker = new DefaultInFlightTracker(Long.MAX_VALUE);

        assertThat(tracker.tryAcquire("a")).isTrue();

        assertThat(tracker.tryAcquire("a")).isFalse();
    }

    @Test
    void a_time_to_live_of_zero_is_none() {
        DefaultInFlightTracker tracker = new DefaultInFlightTracker(0);

        assertThat(tracker.tryAcquire("a")).isTrue();

        long acquired = System.nanoTime();
        eventually(() -> assertThat(System.nanoTime() - acquired).isGreaterThan(2_000_000));
        assertThat(tracker.hasExpired("a")).isFalse();
        assertThat(tracker.tryAcquire("a")).isFalse();
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, Long.MIN_VALUE})
    void a_negative_time_to_live_is_refused(long ttlMs) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new DefaultInFlightTracker(ttlMs))
                .withMessageContaining("ttlMs");
    }

    @Test
    void of_many_threads_exactly_one_acquires() throws Exception {
        assertOneWinner(new DefaultInFlightTracker());
    }

    @Test
    void of_many_threads_exactly_one_takes_over_a_stale_entry() throws Exception {
        DefaultInFlightTracker tracker = new DefaultInFlightTracker(300);
        for (int round = 0; round < ROUNDS; round++) {
            tracker.tryAcquire("event-" + round);
        }
        tracker.tryAcquire("the last");

        // by now all entries are stale
        eventually(() -> assertThat(tracker.tryAcquire("the last")).isTrue());

        assertOneWinner(tracker);
    }

    private static void assertOneWinner(InFlightTracker tracker) throws Exception {
        int threads = 8;
        ExecutorService executor = Executors.newFixedThreadPool(threads);
        for (int round = 0; round < ROUNDS; round++) {
            String id = "event-" + round;
            CyclicBarrier together = new CyclicBarrier(threads);
            List<Callable<Boolean>> takers = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                takers.add(() -> {
                    together.await();
                    return tracker.tryAcquire(id);
                });
            }

            int winners = 0;
            for (Future<Boolean> taker : executor.invokeAll(takers)) {
                winners += taker.get() ? 1 : 0;
            }

            assertThat(winners).isEqualTo(1);
        }
        executor.shutdown();
    }
}
