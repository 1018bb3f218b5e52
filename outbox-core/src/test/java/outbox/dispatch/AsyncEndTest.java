package outbox.dispatch;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import outbox.AsyncEventListener;
import outbox.fake.CapturedLog;
import outbox.model.EventStatus;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;
import static outbox.fake.Eventually.eventually;

/** Asynchronous runs that are ended by a time limit or a close. */
class AsyncEndTest {

    private static final Duration LIMIT = Duration.ofMillis(150);
    private static final long LONG_DRAIN = 60_000;

    private final DispatcherRig rig = new DispatcherRig();
    private final OpenStages stages = new OpenStages(1);
    private final List<String> seen = new CopyOnWriteArrayList<>();

    @AfterEach
    void close() {
        rig.close();
    }

    // ---- the time limit ----

    @Test
    void a_stage_that_never_completes_is_cancelled_and_its_attempt_counts() {
        rig.on("async", stages);
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(1).listenerTimeLimit(LIMIT));

        QueuedEvent event = enqueue(dispatcher, "async");

        eventually(() -> assertStatus(event, EventStatus.RETRY));
        eventually(() -> assertThat(stages.stageOf(event).isCancelled()).isTrue());
        assertThat(rig.store.row(event.envelope().eventId()).attempts()).isEqualTo(1);
        assertThat(rig.store.row(event.envelope().eventId()).error()).contains("TimeoutException", "time limit");
    }

    @Test
    void the_place_of_a_cancelled_stage_is_free() {
        rig.on("async", stages);
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(1).listenerTimeLimit(LIMIT));

        List<QueuedEvent> events =
                Stream.generate(() -> enqueue(dispatcher, "async")).limit(3).toList();

        eventually(() -> assertThat(events).allSatisfy(event -> assertStatus(event, EventStatus.RETRY)));
        assertThat(stages.started).hasSize(3);
    }

    @Test
    void what_a_stage_says_after_its_time_has_no_effect() {
        CompletableFuture<Void> stubborn = new CompletableFuture<>() {
            @Override
            public boolean cancel(boolean interrupt) {
                return false;
            }
        };
        AsyncEventListener listener = event -> stubborn;
        rig.on("async", listener).on("plain", event -> {});
        OutboxDispatcher dispatcher = rig.start(builder -> builder.workerCount(1)
                .listenerTimeLimit(LIMIT)
                .interceptor(EventInterceptor.after((event, error) -> seen.add(event.eventType()))));
        QueuedEvent event = enqueue(dispatcher, "async");
        eventually(() -> assertStatus(event, EventStatus.RETRY));

        stubborn.complete(null);

        QueuedEvent next = enqueue(dispatcher, "plain");
        eventually(() -> assertStatus(next, EventStatus.DONE));
        assertThat(rig.store.calls())
                .containsExactly(
                        "markRetry " + event.envelope().eventId(),
                        "markDone " + next.envelope().eventId());
        assertThat(seen).containsExactly("async", "plain");
    }

    @Test
    void interceptors_hear_of_a_cancelled_stage_once() {
        rig.on("async", stages);
        OutboxDispatcher dispatcher = rig.start(builder -> builder.workerCount(1)
                .listenerTimeLimit(LIMIT)
                .interceptor(EventInterceptor.before(event -> seen.add("before")))
                .interceptor(EventInterceptor.after((event, error) -> seen.add("after " + error))));

        QueuedEvent event = enqueue(dispatcher, "async");

        eventually(() -> assertStatus(event, EventStatus.RETRY));
        eventually(() -> assertThat(stages.stageOf(event).isCancelled()).isTrue());
        assertThat(seen).hasSize(2).first().isEqualTo("before");
        assertThat(seen.get(1)).startsWith("after java.util.concurrent.TimeoutException");
    }

    @Test
    void a_listener_that_takes_too_long_to_return_a_stage_is_interrupted() {
        CountDownLatch gate = rig.gate();
        AsyncEventListener listener = event -> {
            try {
                gate.await();
            } catch (InterruptedException e) {
                seen.add("interrupted");
                throw e;
            }
            return CompletableFuture.completedFuture("late");
        };
        rig.on("async", listener);
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(1).listenerTimeLimit(LIMIT));

        QueuedEvent event = enqueue(dispatcher, "async");

        eventually(() -> assertThat(seen).containsExactly("interrupted"));
        eventually(() -> assertStatus(event, EventStatus.RETRY));
    }

    // ---- the close ----

    @Test
    void closing_waits_for_stages_in_flight() throws Exception {
        rig.on("async", stages);
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(1).drainTimeoutMs(LONG_DRAIN));
        QueuedEvent event = enqueue(dispatcher, "async");
        eventually(() -> assertThat(stages.hasStarted(event)).isTrue());

        CompletableFuture<Void> closing = closing(dispatcher);
        boolean early = closing.isDone();
        stages.complete(event);
        closing.get(20, TimeUnit.SECONDS);

        assertThat(early).isFalse();
        assertStatus(event, EventStatus.DONE);
        assertThat(stages.stageOf(event).isCancelled()).isFalse();
    }

    @Test
    void closing_lets_events_that_wait_for_a_place_finish_too() throws Exception {
        rig.on("async", stages);
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(2).drainTimeoutMs(LONG_DRAIN));
        List<QueuedEvent> events =
                Stream.generate(() -> enqueue(dispatcher, "async")).limit(4).toList();

        CompletableFuture<Void> closing = closing(dispatcher);
        eventually(() -> assertThat(dispatcher.hasColdQueueCapacity()).isFalse());
        for (QueuedEvent ignored : events) {
            completeNext(events);
        }
        closing.get(20, TimeUnit.SECONDS);

        assertThat(events).allSatisfy(event -> assertStatus(event, EventStatus.DONE));
    }

    private void completeNext(List<QueuedEvent> events) {
        eventually(() -> assertThat(events)
                .anyMatch(event ->
                        stages.hasStarted(event) && !stages.stageOf(event).isDone()));
        events.stream()
                .filter(event ->
                        stages.hasStarted(event) && !stages.stageOf(event).isDone())
                .findFirst()
                .ifPresent(stages::complete);
    }

    @Test
    void after_the_drain_time_stages_are_cancelled_and_their_events_keep_their_attempts() {
        rig.on("async", stages);
        OutboxDispatcher dispatcher = rig.start(builder -> builder.workerCount(1)
                .drainTimeoutMs(100)
                .interceptor(EventInterceptor.after((event, error) -> seen.add("after " + error))));
        List<QueuedEvent> events =
                Stream.generate(() -> enqueue(dispatcher, "async")).limit(3).toList();
        eventually(() -> assertThat(stages.started).hasSize(1));

        try (CapturedLog log = CapturedLog.of(Shutdown.class)) {
            dispatcher.close();

            assertThat(log.messages(Level.WARNING)).isEmpty();
        }
        assertThat(stages.started).hasSize(1);
        eventually(() -> assertThat(stages.stageOf(events.get(0)).isCancelled()).isTrue());
        assertThat(rig.store.calls()).isEmpty();
        assertThat(seen).singleElement().asString().startsWith("after java.util.concurrent.CancellationException");
    }

    @Test
    void an_event_that_got_a_place_but_no_worker_before_the_end_holds_up_no_close() throws Exception {
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch gate = rig.gate();
        rig.on("async", stages).on("busy", event -> {
            inside.countDown();
            gate.await();
        });
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(1).drainTimeoutMs(100));
        List<QueuedEvent> events =
                Stream.generate(() -> enqueue(dispatcher, "async")).limit(2).toList();
        enqueue(dispatcher, "busy");
        DispatcherRig.await(inside);
        // the second event gets its place, but no worker takes it
        stages.complete(events.get(0));

        try (CapturedLog log = CapturedLog.of(Shutdown.class)) {
            dispatcher.close();

            assertThat(log.messages(Level.WARNING)).isEmpty();
        }
        assertStatus(events.get(0), EventStatus.DONE);
        assertStatus(events.get(1), EventStatus.NEW);
    }

    private static CompletableFuture<Void> closing(OutboxDispatcher dispatcher) {
        return CompletableFuture.runAsync(dispatcher::close);
    }

    private QueuedEvent enqueue(OutboxDispatcher dispatcher, String type) {
        QueuedEvent event = rig.hot(type);
        assertThat(dispatcher.enqueueHot(event)).isTrue();
        return event;
    }

    private void assertStatus(QueuedEvent event, EventStatus status) {
        assertThat(rig.store.status(event.envelope().eventId())).isEqualTo(status);
    }
}
