package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import outbox.AsyncEventListener;
import outbox.BatchEventListener;
import outbox.EventEnvelope;
import outbox.fake.CapturedLog;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Level;

import static org.assertj.core.api.Assertions.assertThat;
import static outbox.fake.Eventually.eventually;

/** Scopes that an interceptor opens for the call of a listener. */
class ListenerScopesTest {

    private final DispatcherRig rig = new DispatcherRig();
    private final List<String> steps = new CopyOnWriteArrayList<>();

    @AfterEach
    void close() {
        rig.close();
    }

    private EventInterceptor scoped(String name) {
        return new EventInterceptor() {
            @Override
            public void beforeDispatch(EventEnvelope event, int attempt) {
                steps.add("before " + name + " " + attempt);
            }

            @Override
            public AutoCloseable enterListener(List<EventEnvelope> events) {
                Thread thread = Thread.currentThread();
                steps.add("enter " + name + " " + events.size());
                return () -> steps.add("leave " + name + (thread == Thread.currentThread() ? "" : " elsewhere"));
            }

            @Override
            public void afterDispatch(EventEnvelope event, @Nullable Exception error) {
                steps.add("after " + name + (error == null ? "" : " " + error.getMessage()));
            }
        };
    }

    @Test
    void scopes_are_open_while_a_plain_listener_runs_and_closed_in_reverse_order() {
        rig.on("t", event -> steps.add("listener"));
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.interceptor(scoped("1")).interceptor(scoped("2")));

        dispatcher.enqueueHot(rig.hot("t"));

        eventually(() -> assertThat(steps)
                .containsExactly(
                        "before 1 1",
                        "before 2 1",
                        "enter 1 1",
                        "enter 2 1",
                        "listener",
                        "leave 2",
                        "leave 1",
                        "after 2",
                        "after 1"));
    }

    @Test
    void the_attempt_is_counted_from_one() {
        rig.on("t", event -> steps.add("listener"));
        OutboxDispatcher dispatcher = rig.start(builder -> builder.interceptor(scoped("1")));

        dispatcher.enqueueCold(DispatcherRig.cold(rig.store.given("t"), 2));

        eventually(() -> assertThat(steps).contains("before 1 3"));
    }

    @Test
    void scopes_are_closed_when_the_listener_throws() {
        rig.on("t", event -> {
            throw new IllegalStateException("no");
        });
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.maxAttempts(1).interceptor(scoped("1")));

        dispatcher.enqueueHot(rig.hot("t"));

        eventually(() -> assertThat(steps).containsExactly("before 1 1", "enter 1 1", "leave 1", "after 1 no"));
    }

    @Test
    void the_scope_of_an_asynchronous_listener_ends_with_its_call() {
        CompletableFuture<Void> stage = new CompletableFuture<>();
        rig.on("t", (AsyncEventListener) event -> {
            steps.add("listener");
            return stage;
        });
        OutboxDispatcher dispatcher = rig.start(builder -> builder.interceptor(scoped("1")));

        dispatcher.enqueueHot(rig.hot("t"));

        eventually(() -> assertThat(steps).containsExactly("before 1 1", "enter 1 1", "listener", "leave 1"));
        stage.complete(null);
        eventually(() -> assertThat(steps).endsWith("leave 1", "after 1"));
    }

    @Test
    void a_batch_is_entered_once_for_all_its_events() throws InterruptedException {
        BatchEventListener batch = events -> {
            steps.add("listener " + events.size());
            return BatchEventListener.Outcome.allDelivered();
        };
        rig.on("t", batch);
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(1).interceptor(scoped("1")));
        var gate = rig.occupyWorker(dispatcher);
        steps.clear();
        dispatcher.enqueueHot(rig.hot("t"));
        dispatcher.enqueueHot(rig.hot("t"));

        gate.countDown();

        eventually(() -> assertThat(steps).endsWith("after 1", "after 1"));
        assertThat(steps).containsSubsequence("before 1 1", "before 1 1", "enter 1 2", "listener 2", "leave 1");
    }

    @Test
    void what_is_thrown_on_entering_is_a_failed_attempt_and_closes_what_was_open() {
        rig.on("t", event -> steps.add("listener"));
        EventInterceptor refusing = new EventInterceptor() {
            @Override
            public AutoCloseable enterListener(List<EventEnvelope> events) {
                throw new IllegalStateException("refused");
            }
        };
        OutboxDispatcher dispatcher = rig.start(
                builder -> builder.maxAttempts(1).interceptor(scoped("1")).interceptor(refusing));

        dispatcher.enqueueHot(rig.hot("t"));

        eventually(() -> assertThat(steps).containsExactly("before 1 1", "enter 1 1", "leave 1", "after 1 refused"));
    }

    @Test
    void what_is_thrown_on_leaving_is_logged_and_changes_nothing() {
        rig.on("t", event -> steps.add("listener"));
        EventInterceptor leaky = new EventInterceptor() {
            @Override
            public AutoCloseable enterListener(List<EventEnvelope> events) {
                return () -> {
                    throw new StackOverflowError();
                };
            }
        };
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.interceptor(scoped("1")).interceptor(leaky));

        try (CapturedLog log = CapturedLog.of(ListenerScopes.class)) {
            dispatcher.enqueueHot(rig.hot("t"));

            eventually(() -> assertThat(steps).endsWith("leave 1", "after 1"));
            assertThat(log.messages(Level.WARNING)).hasSize(1);
        }
        eventually(
                () -> assertThat(rig.metrics.count("incrementDispatchSuccess")).isEqualTo(1));
    }
}
