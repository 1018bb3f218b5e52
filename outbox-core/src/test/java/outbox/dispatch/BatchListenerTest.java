package outbox.dispatch;

import org.jspecify.annotations.NullUnmarked;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import outbox.AsyncEventListener;
import outbox.BatchEventListener;
import outbox.EventEnvelope;
import outbox.model.EventStatus;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;
import static outbox.fake.Eventually.eventually;

class BatchListenerTest {

    private static final Duration LIMIT = Duration.ofMillis(200);

    private final DispatcherRig rig = new DispatcherRig();
    private final List<List<String>> calls = new CopyOnWriteArrayList<>(); // event ids
    private final List<String> seen = new CopyOnWriteArrayList<>();

    @AfterEach
    void close() {
        rig.close();
    }

    // ---- the content of a call ----

    @Test
    void a_call_holds_what_waits_for_the_listener_up_to_its_limit() throws InterruptedException {
        rig.on("batch", new Batches(4, events -> BatchEventListener.Outcome.allDelivered()));

        List<QueuedEvent> events = delivered(one(), "batch".repeat(10));

        assertThat(calls).extracting(List::size).containsExactly(4, 4, 2);
        assertThat(calls.stream().flatMap(List::stream)).containsExactlyElementsOf(ids(events));
    }

    @Test
    void a_single_event_does_not_wait_for_others() {
        rig.on("batch", new Batches(100, events -> BatchEventListener.Outcome.allDelivered()));
        OutboxDispatcher dispatcher = one();
        QueuedEvent event = rig.hot("batch");

        dispatcher.enqueueHot(event);

        eventually(() -> assertStatus(event, EventStatus.DONE));
        assertThat(calls).containsExactly(ids(List.of(event)));
    }

    @Test
    void a_call_takes_from_both_queues() throws InterruptedException {
        rig.on("batch", new Batches(100, events -> BatchEventListener.Outcome.allDelivered()));
        OutboxDispatcher dispatcher = one();
        CountDownLatch gate = rig.occupyWorker(dispatcher);
        List<QueuedEvent> events = List.of(rig.hot("batch"), rig.cold("batch"), rig.hot("batch"), rig.cold("batch"));

        for (QueuedEvent event : events) {
            boolean hot = event.source() == QueuedEvent.Source.HOT;
            assertThat(hot ? dispatcher.enqueueHot(event) : dispatcher.enqueueCold(event))
                    .isTrue();
        }
        gate.countDown();

        eventually(() -> assertThat(events).allSatisfy(event -> assertStatus(event, EventStatus.DONE)));
        assertThat(calls).extracting(List::size).containsExactly(4);
    }

    @Test
    void events_of_other_listeners_in_between_are_neither_lost_nor_run_twice() throws InterruptedException {
        AsyncEventListener async = event -> {
            seen.add(event.eventId());
            return CompletableFuture.completedFuture("ok");
        };
        rig.on("batch", new Batches(3, events -> BatchEventListener.Outcome.allDelivered()))
                .on("other", new Batches(3, events -> BatchEventListener.Outcome.allDelivered()))
                .on("plain", event -> seen.add(event.eventId()))
                .on("async", async);

        List<QueuedEvent> events = delivered(
                one(),
                ("batch".repeat(2) + "plain" + "batch" + "async".repeat(2) + "other".repeat(4) + "batch").repeat(5));

        List<String> all = new ArrayList<>(seen);
        calls.forEach(all::addAll);
        assertThat(all).containsExactlyInAnyOrderElementsOf(ids(events));
        assertThat(rig.store.calls()).hasSize(events.size() + 1); // plus the event that occupied the worker
    }

    @Test
    void every_event_is_delivered_once_with_several_workers() {
        rig.on("batch", new Batches(7, events -> BatchEventListener.Outcome.allDelivered()))
                .on("plain", event -> seen.add(event.eventId()));
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(4).hotQueueCapacity(2000));
        List<QueuedEvent> events = new ArrayList<>();
        for (int i = 0; i < 2000; i++) {
            events.add(rig.hot(i % 3 == 0 ? "plain" : "batch"));
        }

        events.forEach(event -> assertThat(dispatcher.enqueueHot(event)).isTrue());

        eventually(() -> assertThat(rig.store.calls()).hasSize(2000));
        List<String> all = new ArrayList<>(seen);
        calls.forEach(all::addAll);
        assertThat(all).containsExactlyInAnyOrderElementsOf(ids(events));
        assertThat(calls).allMatch(call -> call.size() <= 7);
    }

    @Test
    void a_listener_that_cannot_tell_its_limit_has_failed_and_its_worker_goes_on() throws InterruptedException {
        rig.on("batch", new BatchEventListener() {
                    @Override
                    public BatchEventListener.Outcome onEvents(List<EventEnvelope> events) {
                        return BatchEventListener.Outcome.allDelivered();
                    }

                    @Override
                    public int maxBatchSize() {
                        throw new IllegalStateException("of a setting");
                    }
                })
                .on("plain", event -> {});

        List<QueuedEvent> events = settled(one(), "batchplainbatch");

        assertRetry(events.get(0), "java.lang.IllegalStateException: of a setting");
        assertStatus(events.get(1), EventStatus.DONE);
        assertRetry(events.get(2), "java.lang.IllegalStateException: of a setting");
    }

    // ---- outcomes ----

    @Test
    void the_outcome_of_each_event_is_its_own() throws InterruptedException {
        rig.on(
                "batch",
                new Batches(
                        10,
                        events -> BatchEventListener.Outcome.allDelivered()
                                .withFailed(events.get(1), new IOException("only this one"))));

        List<QueuedEvent> events = settled(one(), "batch".repeat(4));

        assertStatus(events.get(0), EventStatus.DONE);
        assertRetry(events.get(1), "java.io.IOException: only this one");
        assertStatus(events.get(2), EventStatus.DONE);
        assertStatus(events.get(3), EventStatus.DONE);
    }

    @Test
    void what_is_thrown_is_a_failed_attempt_of_every_event() throws InterruptedException {
        rig.on("batch", new Batches(10, events -> {
            throw new StackOverflowError("deep");
        }));

        List<QueuedEvent> events = settled(one(), "batch".repeat(3));

        assertThat(events).allSatisfy(event -> assertRetry(event, "java.lang.StackOverflowError: deep"));
    }

    @Test
    @NullUnmarked
    void null_instead_of_an_outcome_is_a_failed_attempt_of_every_event() throws InterruptedException {
        rig.on("batch", new Batches(10, events -> null));

        List<QueuedEvent> events = settled(one(), "batch".repeat(3));

        assertThat(events).allSatisfy(event -> {
            assertStatus(event, EventStatus.RETRY);
            assertThat(rig.store.row(event.envelope().eventId()).error()).contains("null instead of an outcome");
        });
    }

    @Test
    void an_outcome_may_name_events_that_were_not_in_the_call() throws InterruptedException {
        EventEnvelope stranger = rig.store.given("batch");
        rig.on(
                "batch",
                new Batches(
                        10,
                        events -> BatchEventListener.Outcome.allDelivered()
                                .withFailed(stranger, new IOException("not in this call"))));

        List<QueuedEvent> events = settled(one(), "batch".repeat(2));

        assertThat(events).allSatisfy(event -> assertStatus(event, EventStatus.DONE));
        assertThat(rig.store.status(stranger.eventId())).isEqualTo(EventStatus.NEW);
    }

    @Test
    void an_interceptor_that_refuses_an_event_takes_only_that_one_out_of_the_call() throws InterruptedException {
        AtomicInteger number = new AtomicInteger();
        rig.on("batch", new Batches(10, events -> BatchEventListener.Outcome.allDelivered()));
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(1).interceptor(new EventInterceptor() {
                    @Override
                    public void beforeDispatch(EventEnvelope event) throws Exception {
                        if (event.eventType().equals("batch") && number.incrementAndGet() == 2) {
                            throw new IOException("refused");
                        }
                    }

                    @Override
                    public void afterDispatch(EventEnvelope event, @Nullable Exception error) {
                        if (event.eventType().equals("batch")) {
                            seen.add(event.eventId() + " " + error);
                        }
                    }
                }));

        List<QueuedEvent> events = settled(dispatcher, "batch".repeat(3));

        List<String> ids = ids(events);
        assertThat(calls).containsExactly(List.of(ids.get(0), ids.get(2)));
        assertRetry(events.get(1), "java.io.IOException: refused");
        assertStatus(events.get(0), EventStatus.DONE);
        assertStatus(events.get(2), EventStatus.DONE);
        assertThat(seen)
                .containsExactlyInAnyOrder(
                        ids.get(0) + " null", ids.get(1) + " java.io.IOException: refused", ids.get(2) + " null");
    }

    @Test
    void without_any_event_that_passes_the_interceptors_the_listener_is_not_called() throws InterruptedException {
        rig.on("batch", new Batches(10, events -> BatchEventListener.Outcome.allDelivered()));
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(1).interceptor(EventInterceptor.before(event -> {
                    if (event.eventType().equals("batch")) {
                        throw new IOException("refused");
                    }
                })));

        List<QueuedEvent> events = settled(dispatcher, "batch".repeat(3));

        assertThat(events).allSatisfy(event -> assertRetry(event, "java.io.IOException: refused"));
        assertThat(calls).isEmpty();
    }

    // ---- the time limit ----

    @Test
    void a_call_past_the_time_limit_is_interrupted_and_counts_for_all_its_events() throws InterruptedException {
        CountDownLatch gate = rig.gate();
        rig.on("batch", new Batches(10, events -> {
            try {
                gate.await();
            } catch (InterruptedException e) {
                seen.add("interrupted");
                throw e;
            }
            return BatchEventListener.Outcome.allDelivered();
        }));

        List<QueuedEvent> events = settled(limited(), "batch".repeat(3));

        assertThat(calls).hasSize(1);
        eventually(() -> assertThat(seen).containsExactly("interrupted"));
        assertThat(events).allSatisfy(event -> {
            assertStatus(event, EventStatus.RETRY);
            assertThat(rig.store.row(event.envelope().eventId()).attempts()).isEqualTo(1);
        });
    }

    @Test
    void a_stuck_call_fails_all_its_events_and_its_worker_is_replaced_once() throws InterruptedException {
        Set<Thread> before = workers();
        CountDownLatch gate = rig.gate();
        rig.on("batch", new Batches(10, events -> {
                    DispatcherRig.passUninterruptibly(gate);
                    return BatchEventListener.Outcome.allDelivered();
                }))
                .on("plain", event -> {});
        OutboxDispatcher dispatcher = limited();

        List<QueuedEvent> events = settled(dispatcher, "batch".repeat(5));

        assertThat(events).allSatisfy(event -> {
            assertStatus(event, EventStatus.RETRY);
            assertThat(rig.store.row(event.envelope().eventId()).error()).contains("TimeoutException");
        });
        Set<Thread> started = workers();
        started.removeAll(before);
        assertThat(started).hasSize(2); // the stuck call and another one in its place
        QueuedEvent next = rig.hot("plain");
        dispatcher.enqueueHot(next);
        eventually(() -> assertStatus(next, EventStatus.DONE));
        int marks = rig.store.calls().size();
        gate.countDown();
        QueuedEvent last = rig.hot("plain");
        dispatcher.enqueueHot(last);
        eventually(() -> assertStatus(last, EventStatus.DONE));
        // the late end of the call changes nothing
        assertThat(rig.store.calls()).hasSize(marks + 1);
    }

    @Test
    void an_interrupt_of_the_first_event_does_not_hit_the_gathering_of_the_others() throws InterruptedException {
        AtomicBoolean interrupted = new AtomicBoolean();
        AtomicInteger started = new AtomicInteger();
        CountDownLatch never = new CountDownLatch(1);
        rig.on("batch", new Batches(2, events -> BatchEventListener.Outcome.allDelivered()));
        OutboxDispatcher dispatcher = rig.start(builder -> builder.workerCount(1)
                .listenerTimeLimit(LIMIT)
                .inFlightTracker(new InFlightTracker() {
                    @Override
                    public boolean tryAcquire(String eventId) {
                        if (started.incrementAndGet() == 3) { // the first is the one that occupied the worker
                            try {
                                interrupted.set(never.await(4 * LIMIT.toMillis(), TimeUnit.MILLISECONDS));
                            } catch (InterruptedException e) {
                                interrupted.set(true);
                            }
                        }
                        return true;
                    }

                    @Override
                    public void release(String eventId) {}
                }));

        List<QueuedEvent> events = settled(dispatcher, "batch".repeat(2));

        assertThat(interrupted).isFalse();
        assertThat(events).allSatisfy(event -> assertStatus(event, EventStatus.DONE));
    }

    // ---- helpers ----

    /** A batch listener that records its calls. */
    private final class Batches implements BatchEventListener {

        private final int limit;
        private final BatchEventListener listener;

        Batches(int limit, BatchEventListener listener) {
            this.limit = limit;
            this.listener = listener;
        }

        @Override
        public BatchEventListener.Outcome onEvents(List<EventEnvelope> events) throws Exception {
            calls.add(events.stream().map(EventEnvelope::eventId).toList());
            return listener.onEvents(events);
        }

        @Override
        public int maxBatchSize() {
            return limit;
        }
    }

    private OutboxDispatcher one() {
        return rig.start(builder -> builder.workerCount(1));
    }

    private OutboxDispatcher limited() {
        return rig.start(builder -> builder.workerCount(1).listenerTimeLimit(LIMIT));
    }

    private List<QueuedEvent> delivered(OutboxDispatcher dispatcher, String types) throws InterruptedException {
        List<QueuedEvent> events = settled(dispatcher, types);
        assertThat(events).allSatisfy(event -> assertStatus(event, EventStatus.DONE));
        return events;
    }

    /**
     * Offers all these events to the only worker at once, and waits until each has an outcome. Type names have
     * five letters.
     */
    private List<QueuedEvent> settled(OutboxDispatcher dispatcher, String types) throws InterruptedException {
        CountDownLatch gate = rig.occupyWorker(dispatcher);
        List<QueuedEvent> events = new ArrayList<>();
        for (int i = 0; i < types.length(); i += 5) {
            QueuedEvent event = rig.hot(types.substring(i, i + 5));
            assertThat(dispatcher.enqueueHot(event)).isTrue();
            events.add(event);
        }
        gate.countDown();
        eventually(() -> assertThat(events)
                .noneMatch(event -> rig.store.status(event.envelope().eventId()) == EventStatus.NEW));
        return events;
    }

    private static Set<Thread> workers() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().matches("outbox-.*-worker-.*"))
                .collect(Collectors.toSet());
    }

    private static List<String> ids(List<QueuedEvent> events) {
        return events.stream().map(event -> event.envelope().eventId()).toList();
    }

    private void assertRetry(QueuedEvent event, String error) {
        assertThat(rig.store.row(event.envelope().eventId())).satisfies(row -> {
            assertThat(row.status()).isEqualTo(EventStatus.RETRY);
            assertThat(row.attempts()).isEqualTo(1);
            assertThat(row.error()).isEqualTo(error);
        });
    }

    private void assertStatus(QueuedEvent event, EventStatus status) {
        assertThat(rig.store.status(event.envelope().eventId())).isEqualTo(status);
    }
}
