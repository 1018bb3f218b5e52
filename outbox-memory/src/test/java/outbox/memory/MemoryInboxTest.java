package outbox.memory;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.RetryLaterException;
import outbox.inbox.IdempotentListener;
import outbox.inbox.InboxException;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MemoryInboxTest {

    private final AtomicInteger effects = new AtomicInteger();
    private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 10); // it overflows on the way
    private final MemoryInbox inbox = new MemoryInbox(3, Duration.ofMinutes(1), Duration.ofMillis(50), nanos::get);

    private boolean handle(String consumer, String id) {
        return inbox.handle(consumer, id, connection -> effects.incrementAndGet());
    }

    @Test
    void each_consumer_handles_an_event_once() {
        assertThat(handle("a", "1")).isTrue();
        assertThat(handle("a", "1")).isFalse();
        assertThat(handle("b", "1")).isTrue();
        assertThat(effects).hasValue(2);
    }

    @Test
    void an_action_that_fails_leaves_no_mark() {
        assertThatThrownBy(() -> inbox.handle("a", "1", connection -> {
                    throw new IllegalStateException("boom");
                }))
                .hasMessage("boom");

        assertThat(handle("a", "1")).isTrue();
    }

    @Test
    void it_forgets_after_its_time_and_the_oldest_when_it_is_full() {
        handle("a", "1");
        nanos.addAndGet(Duration.ofSeconds(59).toNanos());
        assertThat(handle("a", "1")).isFalse();
        nanos.addAndGet(Duration.ofSeconds(1).toNanos());
        assertThat(handle("a", "1")).isTrue();

        handle("a", "2");
        handle("a", "3");
        handle("a", "4");

        assertThat(handle("a", "4")).isFalse();
        assertThat(handle("a", "1")).isTrue();
    }

    @Test
    void copies_at_the_same_time_take_effect_once() throws Exception {
        MemoryInbox patient = new MemoryInbox();
        ExecutorService threads = Executors.newFixedThreadPool(8);
        try {
            for (int round = 0; round < 200; round++) {
                String id = "event " + round;
                List<Future<Boolean>> copies = new ArrayList<>();
                for (int i = 0; i < 8; i++) {
                    copies.add(threads.submit(() -> patient.handle("a", id, connection -> effects.incrementAndGet())));
                }
                int ran = 0;
                for (Future<Boolean> copy : copies) {
                    ran += copy.get(20, TimeUnit.SECONDS) ? 1 : 0;
                }
                assertThat(ran).isEqualTo(1);
            }
        } finally {
            threads.shutdownNow();
        }
        assertThat(effects).hasValue(200);
    }

    @Test
    void a_copy_that_waits_too_long_is_to_come_again_and_costs_no_attempt() throws Exception {
        CountDownLatch entered = new CountDownLatch(1);
        CountDownLatch leave = new CountDownLatch(1);
        Thread first = new Thread(() -> inbox.handle("a", "1", connection -> {
            entered.countDown();
            await(leave);
        }));
        first.start();
        try {
            await(entered);
            EventEnvelope copy =
                    EventEnvelope.builder("T").eventId("1").payloadJson("{}").build();

            assertThatThrownBy(() -> handle("a", "1")).isInstanceOf(InboxException.class);
            assertThatThrownBy(
                            () -> new IdempotentListener(inbox, "a", event -> effects.incrementAndGet()).onEvent(copy))
                    .isInstanceOfSatisfying(
                            RetryLaterException.class,
                            later -> assertThat(later.isCounted()).isFalse());
        } finally {
            leave.countDown();
            first.join(20_000);
        }
        assertThat(effects).hasValue(0);
        assertThat(handle("a", "1")).isFalse();
    }

    @Test
    void a_listener_runs_once_per_key_or_id() throws Exception {
        IdempotentListener listener =
                new IdempotentListener(new MemoryInbox(), "mail", event -> effects.incrementAndGet());

        listener.onEvent(
                EventEnvelope.builder("T").dedupKey("k").payloadJson("{}").build());
        listener.onEvent(
                EventEnvelope.builder("T").dedupKey("k").payloadJson("{}").build());
        assertThat(effects).hasValue(1);

        EventEnvelope plain = EventEnvelope.ofJson("T", "{}");
        listener.onEvent(plain);
        listener.onEvent(plain);
        listener.onEvent(EventEnvelope.ofJson("T", "{}"));
        assertThat(effects).hasValue(3);
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(20, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void what_the_action_throws_is_thrown_as_it_is() {
        assertThatThrownBy(() -> inbox.handle("a", "1", connection -> {
                    throw new SQLException("of the action", "23505");
                }))
                .isInstanceOf(SQLException.class)
                .hasMessage("of the action");
    }
}
