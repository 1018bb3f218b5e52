package outbox.internal;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.fake.CapturedLog;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.logging.Level;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static outbox.fake.Eventually.eventually;

@Timeout(60)
class LoopTest {

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final long LONG = Duration.ofHours(1).toNanos();

    private final List<Thread> started = new CopyOnWriteArrayList<>();
    private final ThreadFactory threads = task -> {
        Thread thread = new Thread(task, "loop");
        started.add(thread);
        return thread;
    };
    private final AtomicInteger rounds = new AtomicInteger();
    private final AtomicLong pause = new AtomicLong(LONG);
    private final Loop.Step counting = new Loop.Step() {
        @Override
        public void run() {
            rounds.incrementAndGet();
        }

        @Override
        public long pauseNanos() {
            return pause.get();
        }
    };
    private Loop loop = new Loop("test", threads, counting);

    @AfterEach
    void close() {
        loop.close(PATIENCE);
    }

    @Test
    void a_wake_is_never_lost_and_a_signal_only_asks_for_the_pause_again() {
        loop.start();
        eventually(() -> assertThat(rounds.get()).isPositive());
        for (int i = 0; i < 1000; i++) {
            int before = rounds.get();
            loop.wake();
            eventually(() -> assertThat(rounds.get()).isGreaterThan(before));
        }
        int before = rounds.get();
        loop.signal();
        pause.set(0);
        loop.signal();
        eventually(() -> assertThat(rounds.get()).isGreaterThan(before));
    }

    @Test
    void it_can_be_stopped_and_started_again_but_not_after_the_close() throws InterruptedException {
        loop.start();
        loop.start();
        loop.stop();
        assertThat(loop.awaitEnd(PATIENCE)).isTrue();
        int before = rounds.get();
        loop.wake();
        assertThat(rounds).hasValue(before);

        loop.start();
        eventually(() -> assertThat(rounds.get()).isGreaterThan(before));

        assertThat(loop.close(PATIENCE)).isTrue();
        assertThat(loop.close(PATIENCE)).isTrue();
        assertThat(loop.isClosed()).isTrue();
        assertThatIllegalStateException().isThrownBy(loop::start).withMessageContaining("test is closed");
    }

    @Test
    void a_round_that_throws_is_followed_by_another() {
        pause.set(0);
        try (CapturedLog log = CapturedLog.of(Loop.class)) {
            loop = new Loop("failing", threads, new Loop.Step() {
                @Override
                public void run() {
                    if (rounds.incrementAndGet() < 3) {
                        throw new StackOverflowError("for this test");
                    }
                }

                @Override
                public long pauseNanos() {
                    return LONG;
                }
            });
            loop.start();
            eventually(() -> assertThat(rounds.get()).isEqualTo(3));

            assertThat(log.messages(Level.SEVERE)).first().asString().contains("The failing failed; it goes on");
        }
    }

    @Test
    void a_close_on_its_own_thread_does_not_wait_for_itself() {
        CompletableFuture<Boolean> ended = new CompletableFuture<>();
        loop = new Loop("own", threads, Loop.Step.every(() -> LONG, () -> ended.complete(loop.close(PATIENCE))));
        loop.start();

        assertThat(ended.join()).isFalse();
        assertThat(loop.close(PATIENCE)).isTrue();
    }

    @Test
    void interrupts_neither_end_it_nor_begin_a_round() {
        loop.start();
        eventually(() -> assertThat(rounds).hasValue(1));

        started.get(0).interrupt();
        loop.wake();

        eventually(() -> assertThat(rounds).hasValue(2));
    }

    @Test
    void a_close_that_is_interrupted_returns_and_stays_interrupted() {
        CountDownLatch gate = new CountDownLatch(1);
        CountDownLatch inside = new CountDownLatch(1);
        loop = new Loop("slow", threads, Loop.Step.every(() -> LONG, () -> {
            inside.countDown();
            await(gate);
        }));
        loop.start();
        await(inside);

        Thread.currentThread().interrupt();
        boolean ended = loop.close(PATIENCE);

        assertThat(Thread.interrupted()).isTrue();
        assertThat(ended).isFalse();
        gate.countDown();
    }

    @RepeatedTest(20)
    void however_the_calls_are_mixed_one_thread_runs_at_a_time_and_none_after_the_close() throws Exception {
        AtomicInteger inside = new AtomicInteger();
        AtomicBoolean overlap = new AtomicBoolean();
        AtomicBoolean late = new AtomicBoolean();
        AtomicBoolean closed = new AtomicBoolean();
        loop = new Loop("mixed", threads, new Loop.Step() {
            @Override
            public void run() {
                overlap.compareAndSet(false, inside.incrementAndGet() > 1);
                late.compareAndSet(false, closed.get());
                rounds.incrementAndGet();
                inside.decrementAndGet();
            }

            @Override
            public long pauseNanos() {
                return ThreadLocalRandom.current().nextInt(4) == 0 ? LONG : 1000;
            }
        });
        int callers = 8;
        CyclicBarrier together = new CyclicBarrier(callers);
        List<CompletableFuture<Void>> calls = new ArrayList<>();
        for (int i = 0; i < callers; i++) {
            int caller = i;
            calls.add(CompletableFuture.runAsync(() -> mix(caller, together), task -> new Thread(task).start()));
        }
        CompletableFuture.allOf(calls.toArray(CompletableFuture[]::new)).join();
        int before = rounds.get();
        loop.start();
        loop.wake();
        eventually(() -> assertThat(rounds.get()).as("it goes on").isGreaterThan(before));

        calls.clear();
        for (int i = 0; i < callers; i++) {
            calls.add(CompletableFuture.runAsync(
                    () -> {
                        assertThat(loop.close(PATIENCE)).isTrue();
                        closed.set(true);
                    },
                    task -> new Thread(task).start()));
        }
        CompletableFuture.allOf(calls.toArray(CompletableFuture[]::new)).join();

        assertThat(overlap).isFalse();
        assertThat(late).isFalse();
        for (Thread thread : started) {
            thread.join(PATIENCE.toMillis());
            assertThat(thread.isAlive()).isFalse();
        }
    }

    private void mix(int caller, CyclicBarrier together) {
        try {
            together.await();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        for (int i = 0; i < 300; i++) {
            switch ((caller + ThreadLocalRandom.current().nextInt(4)) % 4) {
                case 0 -> loop.start();
                case 1 -> loop.stop();
                case 2 -> loop.wake();
                default -> loop.signal();
            }
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
