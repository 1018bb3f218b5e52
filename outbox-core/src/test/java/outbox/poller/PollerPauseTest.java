package outbox.poller;

import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.fake.FakeConnections;
import outbox.fake.MemoryEventStore;

import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;
import static outbox.fake.Eventually.eventually;

/**
 * Tests the pauses of a poller. A slow machine may make them longer, so the tests check exactly only that no cycle
 * is early.
 */
class PollerPauseTest {

    private static final long INTERVAL = 1600;
    private static final double SPREAD = 0.8; // the lower limit of the random factor of a pause

    private final MemoryEventStore store = new MemoryEventStore();
    private final FakeConnections connections = new FakeConnections();
    private final List<Long> cycles = new CopyOnWriteArrayList<>(); // start times

    @Test
    void a_poller_comes_back_soon_after_it_found_something_and_then_less_and_less_often() {
        EventEnvelope event = store.given("t");
        store.beforeEachCall(call -> {
            if (call.equals("pollPending")) {
                cycles.add(System.nanoTime());
            }
        });

        try (OutboxPoller poller = poller(
                (found, attempts) -> store.markDone(connections.connection(false, false), event.eventId()) == 1)) {
            poller.start();
            eventually(() -> assertThat(cycles).hasSize(5));
        }

        // really a sixteenth of the interval
        assertThat(millisBefore(1)).isLessThan((long) (INTERVAL * SPREAD));
        for (int i = 1, pause = (int) INTERVAL / 16; i < 5; i++, pause *= 2) {
            assertThat(millisBefore(i)).as("pause %d", i).isGreaterThanOrEqualTo((long) (pause * SPREAD) - 1);
        }
    }

    @Test
    void an_idle_poller_keeps_to_its_interval_from_the_start() {
        store.beforeEachCall(call -> cycles.add(System.nanoTime()));

        try (OutboxPoller poller = poller((found, attempts) -> true)) {
            poller.start();
            eventually(() -> assertThat(cycles).hasSize(2));
        }

        assertThat(millisBefore(1)).isGreaterThanOrEqualTo((long) (INTERVAL * SPREAD) - 1);
    }

    @Test
    void a_poller_that_is_told_of_what_was_due_centuries_ago_comes_at_once() {
        store.beforeEachCall(call -> cycles.add(System.nanoTime()));

        try (OutboxPoller poller = OutboxPoller.builder()
                .connectionProvider(connections)
                .eventStore(store)
                .handler((found, attempts) -> true)
                .intervalMs(TimeUnit.HOURS.toMillis(1))
                .build()) {
            poller.start();
            eventually(() -> assertThat(cycles).hasSize(1));
            poller.wakeAt(Instant.parse("1000-01-01T00:00:00Z"));
            eventually(() -> assertThat(cycles).hasSize(2));
        }
    }

    private long millisBefore(int cycle) {
        return TimeUnit.NANOSECONDS.toMillis(cycles.get(cycle) - cycles.get(cycle - 1));
    }

    private OutboxPoller poller(OutboxPollerHandler handler) {
        return OutboxPoller.builder()
                .connectionProvider(connections)
                .eventStore(store)
                .handler(handler)
                .intervalMs(INTERVAL)
                .build();
    }
}
