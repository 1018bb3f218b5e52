package outbox.dispatch;

import org.jspecify.annotations.NullUnmarked;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import outbox.AsyncEventListener;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.internal.CurrentEvent;
import outbox.model.EventStatus;

import java.io.IOException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static outbox.fake.Eventually.eventually;

class AsyncListenerTest {

    private final DispatcherRig rig = new DispatcherRig();
    private final List<String> seen = new CopyOnWriteArrayList<>();

    @AfterEach
    void close() {
        rig.close();
    }

    // ---- how a stage ends ----

    @Test
    void an_event_is_delivered_when_its_stage_completes_and_not_before() throws InterruptedException {
        OpenStages stages = new OpenStages(10);
        rig.on("async", stages);
        OutboxDispatcher dispatcher = rig.start(builder -> builder.workerCount(1));
        QueuedEvent event = rig.hot("async");
        dispatcher.enqueueHot(event);
        rig.occupyWorker(dispatcher); // so the previous run has left the worker

        assertStatus(event, EventStatus.NEW);
        stages.complete(event);

        eventually(() -> assertStatus(event, EventStatus.DONE));
        assertThat(rig.metrics.count("incrementDispatchSuccess")).isEqualTo(1);
    }

    @Test
    void a_failed_stage_is_a_failed_attempt_and_the_event_is_tried_again() {
        OpenStages stages = new OpenStages(1);
        rig.on("async", stages);
        OutboxDispatcher dispatcher = rig.start(builder -> builder.workerCount(1));
        QueuedEvent event = rig.hot("async");
        dispatcher.enqueueHot(event);
        eventually(() -> assertThat(stages.hasStarted(event)).isTrue());

        stages.fail(event, new IOException("the broker said no"));

        eventually(() -> assertRetry(event, "java.io.IOException: the broker said no"));
        QueuedEvent again = DispatcherRig.cold(event.envelope(), 1);
        eventually(() -> assertThat(dispatcher.enqueueCold(again)).isTrue());
        eventually(() -> assertThat(stages.started).hasSize(2));
        stages.complete(again);
        eventually(() -> assertStatus(event, EventStatus.DONE));
    }

    @Test
    void the_cause_is_told_and_not_the_wrapping_that_stages_give_it() {
        rig.on(
                "async",
                async(event -> CompletableFuture.failedFuture(new IOException("the broker said no"))
                        .thenApply(answer -> answer)));

        QueuedEvent event = enqueue("async");

        eventually(() -> assertRetry(event, "java.io.IOException: the broker said no"));
    }

    @Test
    void an_error_in_a_stage_is_a_failed_attempt() {
        rig.on("async", async(event -> CompletableFuture.failedFuture(new StackOverflowError("deep"))));

        QueuedEvent event = enqueue("async");

        eventually(() -> assertRetry(event, "java.lang.StackOverflowError: deep"));
    }

    @Test
    void an_exception_instead_of_a_stage_is_a_failed_attempt() {
        rig.on("async", async(event -> {
            throw new IOException("no connection");
        }));

        QueuedEvent event = enqueue("async");

        eventually(() -> assertRetry(event, "java.io.IOException: no connection"));
    }

    @Test
    @NullUnmarked
    void null_instead_of_a_stage_is_a_failed_attempt() {
        rig.on("async", async(event -> null));

        QueuedEvent event = enqueue("async");

        eventually(() -> assertStatus(event, EventStatus.RETRY));
        assertThat(rig.store.row(event.envelope().eventId()).error()).contains("null instead of a stage");
    }

    @Test
    void an_event_whose_stages_always_fail_is_dead_after_its_attempts() {
        rig.on("async", async(event -> CompletableFuture.failedFuture(new IOException("never"))));
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(1).maxAttempts(3));
        EventEnvelope event = rig.store.given("async");

        dispatcher.enqueueCold(DispatcherRig.cold(event, 2));

        eventually(() -> assertThat(rig.store.status(event.eventId())).isEqualTo(EventStatus.DEAD));
    }

    @Test
    void a_stage_that_is_complete_already_frees_its_place_at_once() {
        rig.on("async", new Bounded(1, event -> CompletableFuture.completedFuture("ok")));
        OutboxDispatcher dispatcher = rig.start(builder -> builder.workerCount(1));

        List<QueuedEvent> events = enqueue(dispatcher, "async", 50);

        eventually(() -> assertThat(events).allSatisfy(event -> assertStatus(event, EventStatus.DONE)));
    }

    @Test
    void a_stage_that_completes_twice_is_heard_once() {
        rig.on(
                "async",
                new Bounded(
                        1,
                        event -> stage(callback -> {
                            callback.accept(null, null);
                            callback.accept(null, new IOException("second thoughts"));
                        })));
        OutboxDispatcher dispatcher = rig.start(builder -> builder.workerCount(1));

        List<QueuedEvent> events = enqueue(dispatcher, "async", 20);

        eventually(() -> assertThat(events).allSatisfy(event -> assertStatus(event, EventStatus.DONE)));
        assertThat(rig.store.calls()).hasSize(20).allMatch(call -> call.startsWith("markDone"));
    }

    @Test
    void a_stage_that_refuses_to_be_listened_to_is_a_failed_attempt() {
        AtomicInteger calls = new AtomicInteger();
        rig.on(
                "async",
                new Bounded(
                        1,
                        event -> calls.incrementAndGet() > 1
                                ? CompletableFuture.completedFuture("ok")
                                : stage(callback -> {
                                    throw new UnsupportedOperationException("whenComplete");
                                })));
        OutboxDispatcher dispatcher = rig.start(builder -> builder.workerCount(1));

        List<QueuedEvent> events = enqueue(dispatcher, "async", 2);

        eventually(() -> assertRetry(events.get(0), "java.lang.UnsupportedOperationException: whenComplete"));
        eventually(() -> assertStatus(events.get(1), EventStatus.DONE));
    }

    // ---- how many are in flight ----

    @Test
    void no_more_than_its_bound_are_in_flight_while_other_types_flow_on_with_a_single_worker() {
        OpenStages stages = new OpenStages(2);
        rig.on("async", stages).on("plain", event -> seen.add(event.eventId()));
        OutboxDispatcher dispatcher = rig.start(builder -> builder.workerCount(1));
        List<QueuedEvent> async = enqueue(dispatcher, "async", 7);

        List<QueuedEvent> plain = enqueue(dispatcher, "plain", 5);

        eventually(() -> assertThat(plain).allSatisfy(event -> assertStatus(event, EventStatus.DONE)));
        assertThat(stages.started).containsExactlyElementsOf(ids(async.subList(0, 2)));
        for (QueuedEvent event : async) { // each completion frees a place for the event that waited longest
            eventually(() -> assertThat(stages.hasStarted(event)).isTrue());
            stages.complete(event);
        }
        eventually(() -> assertThat(async).allSatisfy(event -> assertStatus(event, EventStatus.DONE)));
        assertThat(stages.started).containsExactlyElementsOf(ids(async));
        assertThat(stages.mostInFlight).hasValue(2);
    }

    @Test
    void a_failed_stage_frees_its_place() {
        OpenStages stages = new OpenStages(1);
        rig.on("async", stages);
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(1).drainTimeoutMs(0));
        List<QueuedEvent> events = enqueue(dispatcher, "async", 2);
        eventually(() -> assertThat(stages.started).hasSize(1));

        stages.fail(events.get(0), new IOException("no"));

        eventually(() -> assertThat(stages.hasStarted(events.get(1))).isTrue());
    }

    @Test
    void events_that_were_set_aside_keep_their_room_in_the_queue() throws InterruptedException {
        OpenStages stages = new OpenStages(1);
        rig.on("async", stages);
        rig.on("plain", event -> {});
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(1).drainTimeoutMs(0).hotQueueCapacity(3));
        List<QueuedEvent> events = new ArrayList<>(enqueue(dispatcher, "async", 1));
        CountDownLatch first = rig.occupyWorker(dispatcher); // now the event is in flight
        events.addAll(enqueue(dispatcher, "async", 2));
        QueuedEvent last = enqueue(dispatcher, "plain", 1).get(0);
        first.countDown();
        // the two events before it were set aside
        eventually(() -> assertStatus(last, EventStatus.DONE));

        // so no event is being taken from the queue
        CountDownLatch second = rig.occupyWorker(dispatcher);
        events.addAll(enqueue(dispatcher, "async", 1));
        QueuedEvent refused = rig.hot("async");
        assertThat(dispatcher.enqueueHot(refused)).isFalse();
        second.countDown();
        for (QueuedEvent event : events) {
            eventually(() -> assertThat(stages.hasStarted(event)).isTrue());
            stages.complete(event);
        }

        eventually(() -> assertThat(dispatcher.enqueueHot(refused)).isTrue());
        eventually(() -> assertThat(stages.hasStarted(refused)).isTrue());
    }

    @Test
    void a_listener_that_cannot_tell_its_bound_has_failed_and_its_worker_goes_on() {
        rig.on("async", new AsyncEventListener() {
                    @Override
                    public CompletionStage<?> onEventAsync(EventEnvelope event) {
                        return CompletableFuture.completedFuture("never called");
                    }

                    @Override
                    public int maxInFlight() {
                        throw new NoClassDefFoundError("of a setting");
                    }
                })
                .on("plain", event -> {});
        OutboxDispatcher dispatcher = rig.start(builder -> builder.workerCount(1));
        QueuedEvent event = rig.hot("async");
        dispatcher.enqueueHot(event);
        QueuedEvent plain = rig.hot("plain");
        dispatcher.enqueueHot(plain);

        eventually(() -> assertRetry(event, "java.lang.NoClassDefFoundError: of a setting"));
        eventually(() -> assertStatus(plain, EventStatus.DONE));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void an_event_that_waited_for_a_place_takes_it_even_if_the_registry_knows_another_listener_by_now(boolean async) {
        OpenStages former = new OpenStages(1);
        AtomicReference<EventListener> known = new AtomicReference<>(former);
        OutboxDispatcher dispatcher = rig.start(builder -> builder.workerCount(1)
                .listenerRegistry((aggregateType, type) -> type.equals("async") ? known.get() : event -> {}));
        List<QueuedEvent> events = enqueue(dispatcher, "async", 3);
        QueuedEvent last = enqueue(dispatcher, "plain", 1).get(0);
        // the worker has seen the others
        eventually(() -> assertStatus(last, EventStatus.DONE));

        known.set(async ? new OpenStages(1) : event -> seen.add(event.eventId()));

        for (QueuedEvent event : events) {
            eventually(() -> assertThat(former.hasStarted(event)).isTrue());
            former.complete(event);
            eventually(() -> assertStatus(event, EventStatus.DONE));
        }
        assertThat(seen).isEmpty();
    }

    // ---- interceptors ----

    @Test
    void interceptors_run_once_before_the_call_and_once_in_reverse_after_the_end() {
        OpenStages stages = new OpenStages(10);
        rig.on("open", stages);
        OutboxDispatcher dispatcher = rig.start(
                builder -> builder.workerCount(1).interceptor(noting("a")).interceptor(noting("b")));
        QueuedEvent good = enqueue(dispatcher, "open", 1).get(0);
        eventually(() -> assertThat(stages.hasStarted(good)).isTrue());
        assertThat(seen).containsExactly("before a", "before b");

        stages.complete(good);

        eventually(() -> assertStatus(good, EventStatus.DONE));
        assertThat(seen).containsExactly("before a", "before b", "after b null", "after a null");
        seen.clear();
        QueuedEvent bad = enqueue(dispatcher, "open", 1).get(0);
        eventually(() -> assertThat(stages.hasStarted(bad)).isTrue());
        stages.fail(bad, new IOException("no"));
        eventually(() -> assertStatus(bad, EventStatus.RETRY));
        assertThat(seen)
                .containsExactly(
                        "before a", "before b", "after b java.io.IOException: no", "after a java.io.IOException: no");
    }

    @Test
    void an_interceptor_that_refuses_an_event_keeps_it_from_the_listener_and_frees_the_place() {
        OpenStages stages = new OpenStages(1);
        rig.on("async", stages);
        AtomicInteger calls = new AtomicInteger();
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(1).drainTimeoutMs(0).interceptor(new EventInterceptor() {
                    @Override
                    public void beforeDispatch(EventEnvelope event) throws Exception {
                        if (calls.incrementAndGet() == 1) {
                            throw new IOException("refused");
                        }
                    }

                    @Override
                    public void afterDispatch(EventEnvelope event, @Nullable Exception error) {
                        seen.add(event.eventId() + " " + error);
                    }
                }));

        List<QueuedEvent> events = enqueue(dispatcher, "async", 2);

        eventually(() -> assertRetry(events.get(0), "java.io.IOException: refused"));
        eventually(() -> assertThat(stages.started).containsExactlyElementsOf(ids(events.subList(1, 2))));
        assertThat(seen).containsExactly(ids(events).get(0) + " java.io.IOException: refused");
    }

    @Test
    void a_listener_that_ends_the_run_of_another_event_is_still_the_cause_of_what_it_writes() {
        OpenStages stages = new OpenStages(10);
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(1).interceptor(noting("a")));
        rig.on("open", stages);
        QueuedEvent open = rig.hot("open");
        List<String> causes = new CopyOnWriteArrayList<>();
        rig.on("completes", event -> {
            stages.complete(open);
            causes.add(Objects.requireNonNull(CurrentEvent.get()).eventType());
        });
        dispatcher.enqueueHot(open);
        eventually(() -> assertThat(stages.hasStarted(open)).isTrue());

        enqueue(dispatcher, "completes", 1);

        eventually(() -> assertStatus(open, EventStatus.DONE));
        eventually(() -> assertThat(causes).containsExactly("completes"));
    }

    // ---- helpers ----

    private EventInterceptor noting(String name) {
        return new EventInterceptor() {
            @Override
            public void beforeDispatch(EventEnvelope event) {
                seen.add("before " + name);
            }

            @Override
            public void afterDispatch(EventEnvelope event, @Nullable Exception error) {
                seen.add("after " + name + " " + error);
            }
        };
    }

    /** An asynchronous listener with a limit. */
    private record Bounded(int maxInFlight, AsyncEventListener listener) implements AsyncEventListener {
        @Override
        public CompletionStage<?> onEventAsync(EventEnvelope event) throws Exception {
            return listener.onEventAsync(event);
        }
    }

    private static AsyncEventListener async(AsyncEventListener listener) {
        return listener;
    }

    /** A custom stage that passes its callback to the test. */
    private static CompletionStage<?> stage(Consumer<BiConsumer<@Nullable Object, @Nullable Throwable>> whenComplete) {
        return (CompletionStage<?>) Proxy.newProxyInstance(
                AsyncListenerTest.class.getClassLoader(),
                new Class<?>[] {CompletionStage.class},
                (self, method, arguments) -> {
                    if (!method.getName().equals("whenComplete")) {
                        throw new UnsupportedOperationException(method.getName());
                    }
                    @SuppressWarnings("unchecked")
                    BiConsumer<@Nullable Object, @Nullable Throwable> callback =
                            (BiConsumer<@Nullable Object, @Nullable Throwable>) arguments[0];
                    whenComplete.accept(callback);
                    return self;
                });
    }

    private QueuedEvent enqueue(String type) {
        return enqueue(rig.start(builder -> builder.workerCount(1)), type, 1).get(0);
    }

    private List<QueuedEvent> enqueue(OutboxDispatcher dispatcher, String type, int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> {
                    QueuedEvent event = rig.hot(type);
                    assertThat(dispatcher.enqueueHot(event)).isTrue();
                    return event;
                })
                .toList();
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
