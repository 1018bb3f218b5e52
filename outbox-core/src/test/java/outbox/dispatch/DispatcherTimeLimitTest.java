package outbox.dispatch;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import outbox.fake.CapturedLog;
import outbox.model.EventStatus;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Level;

import static org.assertj.core.api.Assertions.assertThat;
import static outbox.fake.Eventually.eventually;

class DispatcherTimeLimitTest {

    private static final Duration LIMIT = Duration.ofMillis(60);

    private final DispatcherRig rig = new DispatcherRig();
    private final List<Throwable> thrown = new CopyOnWriteArrayList<>();

    @AfterEach
    void close() {
        rig.close();
    }

    @Test
    void a_listener_may_have_a_time_limit_of_its_own_by_its_name() {
        CountDownLatch gate = rig.gate();
        rig.on("slow", event -> gate.await());
        rig.on("patient", event -> gate.await());
        QueuedEvent slow = rig.hot("slow");
        QueuedEvent patient = rig.hot("patient");
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(2).listenerTimeLimit("__GLOBAL__:slow", LIMIT));
        dispatcher.enqueueHot(patient);

        dispatcher.enqueueHot(slow);

        eventually(() -> assertStatus(slow, EventStatus.RETRY));
        assertThat(rig.store.row(slow.envelope().eventId()).error()).contains("InterruptedException");
        assertStatus(patient, EventStatus.NEW);
        gate.countDown();
        eventually(() -> assertStatus(patient, EventStatus.DONE));
    }

    @Test
    void a_listener_past_its_time_limit_is_interrupted_and_its_attempt_failed() {
        CountDownLatch gate = rig.gate();
        rig.on("slow", event -> {
            try {
                gate.await();
            } catch (InterruptedException e) {
                thrown.add(e);
                throw e;
            }
        });
        QueuedEvent slow = rig.hot("slow");

        rig.start(builder -> builder.workerCount(1).listenerTimeLimit(LIMIT)).enqueueHot(slow);

        eventually(() -> assertStatus(slow, EventStatus.RETRY));
        assertThat(thrown).hasSize(1);
        assertThat(rig.store.row(slow.envelope().eventId()).error()).contains("InterruptedException");
        assertThat(rig.metrics.count("incrementStuckListeners")).isZero();
    }

    @Test
    void a_listener_within_its_time_limit_is_left_alone() {
        rig.on("t", event -> {});
        List<QueuedEvent> events = List.of(rig.hot("t"), rig.hot("t"), rig.hot("t"));
        OutboxDispatcher dispatcher = rig.start(builder -> builder.listenerTimeLimit(Duration.ofSeconds(5)));

        events.forEach(dispatcher::enqueueHot);

        eventually(() -> assertThat(events).allSatisfy(event -> assertStatus(event, EventStatus.DONE)));
    }

    @Test
    void a_listener_is_interrupted_before_it_is_called_stuck_however_late_the_keeper_looks() {
        CountDownLatch gate = rig.gate();
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch pause = new CountDownLatch(1);
        rig.on("slow", event -> {
            inside.countDown();
            gate.await();
        });
        rig.metrics.on("recordLiveWorkers", () -> holdUpKeeper(inside, pause));
        QueuedEvent slow = rig.hot("slow");

        rig.start(builder -> builder.workerCount(1).listenerTimeLimit(LIMIT)).enqueueHot(slow);

        eventually(() -> assertStatus(slow, EventStatus.RETRY));
        assertThat(rig.store.row(slow.envelope().eventId()).error()).contains("InterruptedException");
        assertThat(rig.metrics.count("incrementStuckListeners")).isZero();
    }

    /**
     * Blocks the keeper thread once, until the listener has run for many times its limit. A busy machine or a long
     * garbage collection has the same effect.
     */
    private static void holdUpKeeper(CountDownLatch inside, CountDownLatch pause) {
        if (pause.getCount() == 0) {
            return;
        }
        try {
            DispatcherRig.await(inside);
            assertThat(pause.await(10 * LIMIT.toMillis(), TimeUnit.MILLISECONDS))
                    .isFalse();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        } finally {
            pause.countDown();
        }
    }

    @Test
    void a_listener_that_ignores_the_interrupt_is_reported_failed_and_its_worker_replaced() {
        CountDownLatch gate = rig.gate();
        rig.on("stuck", event -> DispatcherRig.passUninterruptibly(gate)).on("good", event -> {});
        QueuedEvent stuck = rig.hot("stuck");
        QueuedEvent good = rig.hot("good");

        try (CapturedLog log = CapturedLog.of(RunWatch.class)) {
            OutboxDispatcher dispatcher =
                    rig.start(builder -> builder.workerCount(1).listenerTimeLimit(LIMIT));
            dispatcher.enqueueHot(stuck);
            dispatcher.enqueueHot(good);

            eventually(() -> assertStatus(good, EventStatus.DONE));
            eventually(() -> assertStatus(stuck, EventStatus.RETRY));
            assertThat(log.messages(Level.SEVERE)).singleElement().asString().contains("is stuck");
        }
        assertThat(rig.metrics.count("incrementStuckListeners")).isEqualTo(1);
        assertThat(rig.store.row(stuck.envelope().eventId()).error()).contains("TimeoutException", "time limit");
    }

    @Test
    void an_event_in_flight_longer_than_its_tracker_allows_is_failed_and_delivered_again() {
        CountDownLatch gate = rig.gate();
        AtomicInteger runs = new AtomicInteger();
        rig.on("stuck", event -> {
            if (runs.incrementAndGet() == 1) {
                DispatcherRig.passUninterruptibly(gate);
            }
        });
        QueuedEvent stuck = rig.hot("stuck");
        OutboxDispatcher dispatcher = rig.start(builder -> builder.workerCount(1)
                .leaseDuration(Duration.ofSeconds(1)) // the keeper checks ten times per lease
                .inFlightTracker(new DefaultInFlightTracker(200)));
        dispatcher.enqueueHot(stuck);
        eventually(() -> assertStatus(stuck, EventStatus.RETRY));
        assertThat(rig.store.row(stuck.envelope().eventId()).error()).contains("in-flight tracker");
        assertThat(rig.metrics.count("incrementStuckListeners")).isEqualTo(1);

        eventually(() -> {
            if (runs.get() == 1) { // it is accepted after its first delivery is released
                dispatcher.enqueueCold(DispatcherRig.cold(stuck.envelope(), 1));
            }
            assertStatus(stuck, EventStatus.DONE);
        });
        gate.countDown();

        assertThat(runs.get()).isEqualTo(2);
    }

    @Test
    void a_stuck_listener_that_returns_at_last_changes_nothing() {
        CountDownLatch gate = rig.gate();
        rig.on("stuck", event -> DispatcherRig.passUninterruptibly(gate)).on("good", event -> {});
        QueuedEvent stuck = rig.hot("stuck");
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(1).listenerTimeLimit(LIMIT));
        dispatcher.enqueueHot(stuck);
        eventually(() -> assertStatus(stuck, EventStatus.RETRY));

        gate.countDown();

        QueuedEvent good = rig.hot("good");
        dispatcher.enqueueHot(good);
        eventually(() -> assertStatus(good, EventStatus.DONE));
        eventually(() -> assertLiveWorkers(1));
        assertThat(rig.store.calls())
                .containsExactly(
                        "markRetry " + stuck.envelope().eventId(),
                        "markDone " + good.envelope().eventId());
    }

    @Test
    void stuck_workers_are_replaced_within_a_bound_and_come_back_when_their_listeners_return() {
        int workers = 2;
        CountDownLatch gate = rig.gate();
        rig.on("stuck", event -> DispatcherRig.passUninterruptibly(gate)).on("good", event -> {});
        try (CapturedLog log = CapturedLog.of(WorkerPool.class)) {
            OutboxDispatcher dispatcher =
                    rig.start(builder -> builder.workerCount(workers).listenerTimeLimit(LIMIT));
            for (int i = 0; i < 2 * workers; i++) {
                dispatcher.enqueueHot(rig.hot("stuck"));
            }
            eventually(() ->
                    assertThat(rig.metrics.count("incrementStuckListeners")).isEqualTo(2 * workers));
            eventually(() -> assertLiveWorkers(0));
            assertThat(dispatcher.status().workers()).isEqualTo(workers);
            assertThat(dispatcher.status().liveWorkers()).isZero();
            assertThat(dispatcher.status().hotWaiting()).isZero();
            assertThat(log.messages(Level.SEVERE)).hasSize(workers).allMatch(message -> message.contains("are stuck"));
            QueuedEvent good = rig.hot("good");
            dispatcher.enqueueHot(good);
            assertStatus(good, EventStatus.NEW);
            assertThat(dispatcher.status().hotWaiting()).isEqualTo(1);

            gate.countDown();

            eventually(() -> assertStatus(good, EventStatus.DONE));
            eventually(() -> assertLiveWorkers(workers));
        }
    }

    private void assertLiveWorkers(int workers) {
        assertThat(rig.metrics.last("recordLiveWorkers")).containsExactly(workers);
    }

    private void assertStatus(QueuedEvent event, EventStatus status) {
        assertThat(rig.store.status(event.envelope().eventId())).isEqualTo(status);
    }
}
