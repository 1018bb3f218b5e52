package outbox.dispatch;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import outbox.fake.CapturedLog;
import outbox.model.EventStatus;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;
import static outbox.fake.Eventually.eventually;

class DispatcherCloseTest {

    private final DispatcherRig rig = new DispatcherRig();
    private final List<String> ran = new CopyOnWriteArrayList<>();
    private final Set<Thread> threadsBefore = outboxThreads();

    @AfterEach
    void close() {
        rig.close();
    }

    @Test
    void closing_before_any_event_ends_all_threads() {
        OutboxDispatcher dispatcher = rig.start(builder -> builder);

        dispatcher.close();

        eventually(this::assertNoThreadLeft);
    }

    @Test
    void closing_without_workers_ends_all_threads_and_leaves_the_events_in_the_table() {
        OutboxDispatcher dispatcher = rig.start(builder -> builder.workerCount(0));
        QueuedEvent event = rig.hot("t");
        dispatcher.enqueueHot(event);

        dispatcher.close();

        assertStatus(event, EventStatus.NEW);
        eventually(this::assertNoThreadLeft);
    }

    @Test
    void closing_twice_is_closing_once() {
        OutboxDispatcher dispatcher = rig.start(builder -> builder);

        dispatcher.close();
        dispatcher.close();

        eventually(this::assertNoThreadLeft);
    }

    @Test
    void closing_from_two_threads_is_closing_once() throws Exception {
        rig.on("t", event -> ran.add("t"));
        OutboxDispatcher dispatcher = rig.start(builder -> builder);
        QueuedEvent event = rig.hot("t");
        dispatcher.enqueueHot(event);
        CyclicBarrier together = new CyclicBarrier(2);
        Runnable close = () -> {
            try {
                together.await();
            } catch (Exception e) {
                throw new AssertionError(e);
            }
            dispatcher.close();
        };

        CompletableFuture<Void> one = CompletableFuture.runAsync(close);
        CompletableFuture<Void> other = CompletableFuture.runAsync(close);
        CompletableFuture.allOf(one, other).get(10, TimeUnit.SECONDS);

        assertStatus(event, EventStatus.DONE);
        eventually(this::assertNoThreadLeft);
    }

    @Test
    void a_listener_may_close_its_dispatcher() {
        OutboxDispatcher dispatcher = rig.start(builder -> builder.workerCount(1));
        rig.on("closes", event -> dispatcher.close());
        QueuedEvent event = rig.hot("closes");

        dispatcher.enqueueHot(event);

        eventually(() -> assertStatus(event, EventStatus.DONE));
        eventually(this::assertNoThreadLeft);
        assertThat(dispatcher.enqueueHot(rig.hot("closes"))).isFalse();
    }

    @Test
    void what_is_queued_may_be_given_back_while_what_runs_is_finished_uninterrupted() throws Exception {
        CountDownLatch running = new CountDownLatch(1);
        CountDownLatch gate = rig.gate();
        rig.on("slow", event -> {
            running.countDown();
            gate.await(); // an interrupt would end this wait
            ran.add("slow");
        });
        rig.on("t", event -> ran.add("t"));
        OutboxDispatcher dispatcher = rig.start(
                builder -> builder.workerCount(1).drainTimeoutMs(10_000).drainQueues(false));
        QueuedEvent slow = rig.hot("slow");
        dispatcher.enqueueHot(slow);
        DispatcherRig.await(running);
        QueuedEvent queued = rig.hot("t");
        dispatcher.enqueueHot(queued);

        CompletableFuture<Void> close = CompletableFuture.runAsync(dispatcher::close);
        eventually(() -> assertThat(dispatcher.status().hotWaiting()).isZero()); // released
        gate.countDown();
        close.get(10, TimeUnit.SECONDS);

        assertThat(ran).containsExactly("slow");
        assertStatus(slow, EventStatus.DONE);
        assertStatus(queued, EventStatus.NEW);
        eventually(this::assertNoThreadLeft);
    }

    @Test
    void what_is_queued_is_finished_before_the_close_returns() throws Exception {
        rig.on("t", event -> ran.add(event.eventId()));
        OutboxDispatcher dispatcher = rig.start(builder -> builder.workerCount(1));
        CountDownLatch gate = rig.occupyWorker(dispatcher);
        List<QueuedEvent> queued = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            queued.add(rig.hot("t"));
            queued.add(rig.cold("t"));
        }
        queued.stream()
                .filter(event -> event.source() == QueuedEvent.Source.HOT)
                .forEach(dispatcher::enqueueHot);
        queued.stream()
                .filter(event -> event.source() == QueuedEvent.Source.COLD)
                .forEach(dispatcher::enqueueCold);

        CompletableFuture<Void> closing = CompletableFuture.runAsync(dispatcher::close);
        eventually(() -> assertThat(dispatcher.hasColdQueueCapacity()).isFalse());
        gate.countDown();
        closing.get(10, TimeUnit.SECONDS);

        assertThat(ran).hasSize(20);
        assertThat(queued).allSatisfy(event -> assertStatus(event, EventStatus.DONE));
        eventually(this::assertNoThreadLeft);
    }

    @Test
    void a_closing_dispatcher_takes_nothing() {
        OutboxDispatcher dispatcher = rig.start(builder -> builder);

        dispatcher.close();

        assertThat(dispatcher.enqueueHot(rig.hot("t"))).isFalse();
        assertThat(dispatcher.enqueueCold(rig.cold("t"))).isFalse();
        assertThat(dispatcher.hasColdQueueCapacity()).isFalse();
        assertThat(dispatcher.birthClaim(1, 0)).isNull();
    }

    @Test
    void a_listener_cut_short_by_the_close_costs_no_attempt_and_what_waited_is_left() throws Exception {
        CountDownLatch inside = new CountDownLatch(2);
        CountDownLatch gate = rig.gate();
        rig.on("slow", event -> {
            inside.countDown();
            gate.await();
        });
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(2).drainTimeoutMs(50));
        List<QueuedEvent> events =
                Stream.generate(() -> rig.hot("slow")).limit(5).toList();
        events.forEach(dispatcher::enqueueHot);
        DispatcherRig.await(inside);

        dispatcher.close();

        assertThat(rig.store.calls()).isEmpty();
        assertThat(events).allSatisfy(event -> assertStatus(event, EventStatus.NEW));
        eventually(this::assertNoThreadLeft);
    }

    @Test
    void a_listener_that_finishes_despite_the_interrupt_is_done() throws Exception {
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch gate = rig.gate();
        rig.on("tough", event -> {
            inside.countDown();
            try {
                gate.await();
            } catch (InterruptedException e) {
                ran.add("finished anyway");
            }
        });
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(1).drainTimeoutMs(0));
        QueuedEvent event = rig.hot("tough");
        dispatcher.enqueueHot(event);
        DispatcherRig.await(inside);

        dispatcher.close();

        assertThat(ran).containsExactly("finished anyway");
        assertStatus(event, EventStatus.DONE);
    }

    @Test
    void a_listener_that_never_ends_does_not_keep_the_close_from_returning() throws Exception {
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(1).drainTimeoutMs(10));
        rig.occupyWorker(dispatcher);

        try (CapturedLog log = CapturedLog.of(Shutdown.class)) {
            long start = System.nanoTime();
            dispatcher.close();

            assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(5));
            assertThat(log.messages(Level.WARNING)).singleElement().asString().contains("Listeners still run");
        }
        assertThat(rig.store.calls()).isEmpty();
    }

    @Test
    void an_interrupted_thread_closes_too_and_stays_interrupted() throws Exception {
        rig.on("t", event -> ran.add("t"));
        OutboxDispatcher dispatcher = rig.start(builder -> builder.workerCount(1));
        CountDownLatch gate = rig.occupyWorker(dispatcher);
        QueuedEvent waiting = rig.hot("t");
        dispatcher.enqueueHot(waiting);

        Thread.currentThread().interrupt();
        dispatcher.close();
        boolean interrupted = Thread.interrupted();
        gate.countDown();

        assertThat(interrupted).isTrue();
        eventually(this::assertNoThreadLeft);
        assertThat(ran).isEmpty();
        assertStatus(waiting, EventStatus.NEW);
    }

    @Test
    void outcomes_are_written_even_if_the_database_is_away_for_a_moment_during_the_close() {
        rig.on("t", event -> rig.connections.goDown(true));
        OutboxDispatcher dispatcher = rig.start(builder -> builder.workerCount(1));
        QueuedEvent event = rig.hot("t");
        dispatcher.enqueueHot(event);
        eventually(() -> assertThat(rig.metrics.count("incrementMarkFailures")).isPositive());

        CompletableFuture<Void> closing = CompletableFuture.runAsync(dispatcher::close);
        eventually(() -> assertThat(dispatcher.hasColdQueueCapacity()).isFalse());
        rig.connections.goDown(false);
        closing.join();

        assertStatus(event, EventStatus.DONE);
    }

    private static Set<Thread> outboxThreads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("outbox-"))
                .collect(Collectors.toSet());
    }

    private void assertNoThreadLeft() {
        Set<Thread> left = outboxThreads();
        left.removeAll(threadsBefore);
        assertThat(left).isEmpty();
    }

    private void assertStatus(QueuedEvent event, EventStatus status) {
        assertThat(rig.store.status(event.envelope().eventId())).isEqualTo(status);
    }
}
