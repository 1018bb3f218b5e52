package outbox.poller;

import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import outbox.EventEnvelope;
import outbox.fake.CountedMetrics;
import outbox.fake.FakeConnections;
import outbox.fake.FakeLeadership;
import outbox.fake.MemoryEventStore;
import outbox.spi.Leadership;
import outbox.spi.PollerNeeds;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.junit.jupiter.params.provider.Arguments.arguments;
import static outbox.fake.Eventually.eventually;

@NullUnmarked
class PollerLifecycleTest {

    private static final long RARELY = 3_600_000;

    private final MemoryEventStore store = new MemoryEventStore();
    private final Semaphore handled = new Semaphore(0);
    private final CountedMetrics metrics = new CountedMetrics();
    private final List<OutboxPoller> pollers = new ArrayList<>();

    @AfterEach
    void close() {
        pollers.forEach(OutboxPoller::close);
    }

    @Test
    void a_started_poller_looks_at_once_and_then_at_its_interval() throws InterruptedException {
        store.given("t");

        poller(5, this::count).start();

        assertThat(handled.tryAcquire(5, 10, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void a_poller_that_was_not_started_does_nothing_by_itself() {
        store.given("t");
        OutboxPoller poller = poller(1, this::count);

        poller.close();

        assertThat(store.calls()).isEmpty();
    }

    @Test
    void a_poller_tells_whether_it_runs_and_when_it_last_looked() {
        OutboxPoller poller = poller(RARELY, this::count);
        assertThat(poller.status()).isEqualTo(new OutboxPoller.Status(false, Duration.ofMillis(RARELY), null, null));

        poller.start();

        eventually(() -> assertThat(store.calls()).hasSize(1));
        assertThat(poller.status().running()).isTrue();
        assertThat(poller.status().sinceLook()).isLessThan(Duration.ofMinutes(1));

        poller.close();

        assertThat(poller.status().running()).isFalse();
    }

    @Test
    void a_cycle_that_fails_is_no_look() {
        OutboxPoller poller = poller(RARELY, this::count);
        store.beforeEachCall(call -> {
            throw new IllegalStateException("the database is away\nDetail: Failing row contains (secret)");
        });

        poller.poll();

        assertThat(poller.status().sinceLook()).isNull();
        assertThat(poller.status().lastError()).contains("the database is away").doesNotContain("Detail");
        assertThat(metrics.count("recordPoll")).isZero();

        store.beforeEachCall(call -> {});
        poller.poll();

        assertThat(poller.status().sinceLook()).isNotNull();
        assertThat(poller.status().lastError()).isNull();
        assertThat(metrics.count("recordPoll")).isEqualTo(1);
    }

    @Test
    void a_standby_that_cannot_find_out_who_leads_has_not_looked() {
        FakeLeadership leadership = new FakeLeadership();
        leadership.leads = false;
        OutboxPoller poller = poller(RARELY, new OutboxPollerHandler() {
            @Override
            public boolean handle(EventEnvelope event, int attempts) {
                return true;
            }

            @Override
            public PollerNeeds needs() {
                return new PollerNeeds() {
                    @Override
                    public Leadership leadership() {
                        return leadership;
                    }
                };
            }
        });
        leadership.led = false;

        poller.poll();

        assertThat(poller.status().sinceLook()).isNull();
        assertThat(poller.status().lastError()).contains("who leads");

        leadership.led = true;
        poller.poll();

        assertThat(poller.status().sinceLook()).isNotNull();
        assertThat(poller.status().lastError()).isNull();
    }

    @Test
    void a_start_is_told_as_a_poll_so_that_silence_counts_from_there() {
        store.beforeEachCall(call -> {
            throw new IllegalStateException("the database is away");
        });

        poller(RARELY, this::count).start();

        assertThat(metrics.count("recordPoll")).isEqualTo(1);
    }

    @Test
    void starting_twice_is_starting_once() {
        OutboxPoller poller = poller(RARELY, this::count);

        poller.start();
        poller.start();

        eventually(() -> assertThat(pollerThreads()).isEqualTo(1));
    }

    @Test
    void a_wake_makes_the_next_cycle_come_at_once() throws InterruptedException {
        OutboxPoller poller = poller(RARELY, this::count);
        poller.start();
        eventually(() -> assertThat(store.calls()).hasSize(1));
        store.given("t");

        poller.wake();

        assertThat(handled.tryAcquire(10, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void closing_ends_the_thread_and_no_cycle_follows() {
        OutboxPoller poller = poller(1, this::count);
        poller.start();
        eventually(() -> assertThat(store.calls()).hasSizeGreaterThan(3));

        poller.close();
        int calls = store.calls().size();
        poller.poll();
        poller.wake();

        eventually(() -> assertThat(pollerThreads()).isZero());
        assertThat(store.calls()).hasSize(calls);
    }

    @Test
    void closing_twice_or_before_the_start_is_fine() {
        OutboxPoller started = poller(RARELY, this::count);
        OutboxPoller fresh = poller(RARELY, this::count);
        started.start();

        started.close();
        started.close();
        fresh.close();
        fresh.close();

        eventually(() -> assertThat(pollerThreads()).isZero());
    }

    @Test
    void a_closed_poller_cannot_be_started_again() {
        OutboxPoller fresh = poller(RARELY, this::count);
        OutboxPoller used = poller(RARELY, this::count);
        used.start();

        fresh.close();
        used.close();

        assertThatIllegalStateException().isThrownBy(fresh::start).withMessageContaining("closed");
        assertThatIllegalStateException().isThrownBy(used::start).withMessageContaining("closed");
    }

    @Test
    void closing_from_several_threads_is_fine() {
        OutboxPoller poller = poller(RARELY, this::count);
        poller.start();

        CompletableFuture<?>[] closing = Stream.generate(() -> CompletableFuture.runAsync(poller::close))
                .limit(4)
                .toArray(CompletableFuture<?>[]::new);
        CompletableFuture.allOf(closing).join();

        eventually(() -> assertThat(pollerThreads()).isZero());
    }

    @Test
    void closing_waits_for_the_cycle_that_runs() throws Exception {
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch gate = new CountDownLatch(1);
        store.given("t");
        OutboxPoller poller = poller(RARELY, (event, attempts) -> {
            inside.countDown();
            return passed(gate);
        });
        poller.start();
        inside.await();

        CompletableFuture<Void> closing = CompletableFuture.runAsync(poller::close);
        boolean early = closing.isDone();
        gate.countDown();
        closing.get(10, TimeUnit.SECONDS);

        assertThat(early).isFalse();
        eventually(() -> assertThat(pollerThreads()).isZero());
    }

    @Test
    void a_handler_may_close_its_poller() {
        store.given("t");
        store.given("t");
        AtomicReference<OutboxPoller> poller = new AtomicReference<>();
        poller.set(poller(1, (event, attempts) -> {
            handled.release();
            poller.get().close();
            return true;
        }));

        poller.get().start();

        eventually(() -> assertThat(handled.availablePermits()).isPositive());
        eventually(() -> assertThat(pollerThreads()).isZero());
    }

    @Test
    void a_handler_may_close_its_poller_in_a_cycle_run_by_hand_while_the_loop_waits_for_its_turn() {
        AtomicReference<OutboxPoller> poller = new AtomicReference<>();
        Thread hand = Thread.currentThread();
        poller.set(poller(1, (event, attempts) -> {
            if (Thread.currentThread() == hand) {
                eventually(() -> assertThat(loopWaitsForItsTurn()).isTrue());
                poller.get().close();
            }
            return true;
        }));
        poller.get().start();
        eventually(() -> assertThat(store.calls()).isNotEmpty());
        long start = System.nanoTime();

        store.given("t");
        poller.get().poll();

        assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(15));
        eventually(() -> assertThat(pollerThreads()).isZero());
    }

    @Test
    void a_cycle_that_fails_does_not_end_the_loop() throws InterruptedException {
        AtomicInteger calls = new AtomicInteger();
        store.beforeEachCall(call -> {
            if (calls.incrementAndGet() <= 3) {
                throw new StackOverflowError();
            }
        });
        store.given("t");

        poller(1, this::count).start();

        assertThat(handled.tryAcquire(10, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void an_interrupt_by_a_stranger_does_not_end_the_loop() throws InterruptedException {
        OutboxPoller poller = poller(1, this::count);
        poller.start();
        eventually(() -> assertThat(pollerThreads()).isEqualTo(1));

        threads().forEach(Thread::interrupt);
        store.given("t");

        assertThat(handled.tryAcquire(10, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void cycles_run_one_at_a_time() {
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        for (int i = 0; i < 20; i++) {
            store.given("t");
        }
        OutboxPoller poller = poller(1, (event, attempts) -> {
            most.accumulateAndGet(inside.incrementAndGet(), Math::max);
            Thread.onSpinWait();
            inside.decrementAndGet();
            return true;
        });
        poller.start();

        CompletableFuture<?>[] byHand = Stream.generate(() -> CompletableFuture.runAsync(() -> {
                    for (int i = 0; i < 200; i++) {
                        poller.poll();
                    }
                }))
                .limit(4)
                .toArray(CompletableFuture<?>[]::new);
        CompletableFuture.allOf(byHand).join();

        assertThat(most).hasValue(1);
    }

    static Stream<Arguments> wrongSettings() {
        return Stream.of(
                wrong("batchSize", builder -> builder.batchSize(0)),
                wrong("batchSize", builder -> builder.batchSize(-1)),
                wrong("intervalMs", builder -> builder.intervalMs(0)),
                wrong("intervalMs", builder -> builder.intervalMs(-1)),
                wrong("intervalMs", builder -> builder.intervalMs(Long.MAX_VALUE)),
                wrong("skipRecent", builder -> builder.skipRecent(Duration.ofNanos(-1))),
                wrong("skipRecent", builder -> builder.skipRecent(Duration.ofSeconds(Long.MAX_VALUE))),
                wrong("databaseTimeout", builder -> builder.databaseTimeout(Duration.ZERO)),
                wrong(
                        "databaseTimeout",
                        builder -> builder.eventStore(new MemoryEventStore())
                                .connectionProvider(new FakeConnections())
                                .lockTimeout(Duration.ofSeconds(9))
                                .databaseTimeout(Duration.ofSeconds(5))
                                .build()),
                wrong("lockTimeout", builder -> builder.lockTimeout(Duration.ZERO)),
                wrong("lockTimeout", builder -> builder.lockTimeout(Duration.ofNanos(-1))),
                wrong("lockTimeout", builder -> builder.lockTimeout(Duration.ofSeconds(Long.MAX_VALUE))));
    }

    @ParameterizedTest
    @MethodSource("wrongSettings")
    void a_wrong_setting_is_refused_by_name(String name, Consumer<OutboxPoller.Builder> setting) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> setting.accept(OutboxPoller.builder()))
                .withMessageContaining(name);
    }

    static Stream<Arguments> missingSettings() {
        return Stream.of(
                wrong("connectionProvider", builder -> builder.connectionProvider(null)),
                wrong("eventStore", builder -> builder.eventStore(null)),
                wrong("handler", builder -> builder.handler(null)),
                wrong("metrics", builder -> builder.metrics(null)),
                wrong("eventStore", OutboxPoller.Builder::build),
                wrong(
                        "connectionProvider",
                        builder -> builder.eventStore(new MemoryEventStore()).build()),
                wrong(
                        "handler",
                        builder -> builder.eventStore(new MemoryEventStore())
                                .connectionProvider(new FakeConnections())
                                .build()));
    }

    @ParameterizedTest
    @MethodSource("missingSettings")
    void a_missing_setting_is_refused_by_name(String name, Consumer<OutboxPoller.Builder> setting) {
        assertThatNullPointerException()
                .isThrownBy(() -> setting.accept(OutboxPoller.builder()))
                .withMessageContaining(name);
    }

    private boolean count(EventEnvelope event, int attempts) {
        handled.release();
        return true;
    }

    private static boolean passed(CountDownLatch gate) {
        try {
            return gate.await(10, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private OutboxPoller poller(long intervalMs, OutboxPollerHandler handler) {
        OutboxPoller poller = OutboxPoller.builder()
                .connectionProvider(new FakeConnections())
                .eventStore(store)
                .handler(handler)
                .intervalMs(intervalMs)
                .metrics(metrics.exporter())
                .build();
        pollers.add(poller);
        return poller;
    }

    private static boolean loopWaitsForItsTurn() {
        return threads().stream()
                .anyMatch(thread -> Stream.of(thread.getStackTrace())
                        .anyMatch(frame -> frame.getMethodName().equals("lock")));
    }

    private static List<Thread> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().matches("outbox-.*-poller-.*"))
                .toList();
    }

    private static long pollerThreads() {
        return threads().size();
    }

    private static Arguments wrong(String name, Consumer<OutboxPoller.Builder> setting) {
        return arguments(name, setting);
    }
}
