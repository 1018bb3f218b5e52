package outbox.dispatch;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import outbox.AfterCommitHook;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.fake.CapturedLog;
import outbox.fake.CountedMetrics;
import outbox.fake.FakeTx;
import outbox.model.EventStatus;

import java.time.Duration;
import java.util.logging.Level;

import static org.assertj.core.api.Assertions.assertThat;
import static outbox.fake.Eventually.eventually;

class DispatcherMetricsTest {

    private final DispatcherRig rig = new DispatcherRig();

    @AfterEach
    void close() {
        rig.close();
    }

    @Test
    void outcomes_are_counted_by_kind() {
        rig.on("good", event -> {}).on("bad", event -> {
            throw new IllegalStateException();
        });
        OutboxDispatcher dispatcher = rig.start(builder -> builder.maxAttempts(2));

        dispatcher.enqueueHot(rig.hot("good"));
        dispatcher.enqueueHot(rig.hot("good"));
        dispatcher.enqueueHot(rig.hot("bad"));
        dispatcher.enqueueCold(DispatcherRig.cold(rig.store.given("bad"), 1));
        dispatcher.enqueueCold(rig.cold("unroutable"));

        eventually(() -> {
            assertCount("incrementDispatchSuccess", 2);
            assertCount("incrementDispatchFailure", 1);
            assertCount("incrementDispatchDead", 2);
        });
        assertCount("incrementHotEnqueued", 3);
        assertCount("incrementColdEnqueued", 2);
        assertCount("incrementHotDropped", 0);
        assertCount("incrementLostClaims", 0);
        assertCount("incrementMarkFailures", 0);
    }

    @Test
    void each_run_is_told_with_its_type_and_how_long_it_took() {
        rig.on("good", event -> {}).on("bad", event -> {
            throw new IllegalStateException();
        });
        OutboxDispatcher dispatcher = rig.start(builder -> builder.maxAttempts(2));

        dispatcher.enqueueHot(rig.hot("good"));
        eventually(() -> assertCount("recordDispatch", 1));
        assertThat(rig.metrics.last("recordDispatch")).startsWith("good", true);
        assertThat((Duration) rig.metrics.last("recordDispatch")[2]).isPositive();

        dispatcher.enqueueHot(rig.hot("bad"));
        eventually(() -> assertCount("recordDispatch", 2));
        assertThat(rig.metrics.last("recordDispatch")).startsWith("bad", false);
        assertCount("recordDead", 0);

        dispatcher.enqueueCold(DispatcherRig.cold(rig.store.given("bad"), 1));
        eventually(() -> assertCount("recordDead", 1));
        assertThat(rig.metrics.last("recordDead")).containsExactly("bad");
        assertCount("recordDispatch", 3);
    }

    @Test
    void what_is_refused_is_not_counted_as_enqueued() {
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(0).hotQueueCapacity(1).coldQueueCapacity(1));

        for (int i = 0; i < 3; i++) {
            dispatcher.enqueueHot(rig.hot("t"));
            dispatcher.enqueueCold(rig.cold("t"));
        }

        assertCount("incrementHotEnqueued", 1);
        assertCount("incrementColdEnqueued", 1);
    }

    @Test
    void the_depths_of_the_queues_are_recorded() {
        OutboxDispatcher dispatcher = rig.start(builder -> builder.workerCount(0));

        dispatcher.enqueueHot(rig.hot("t"));
        dispatcher.enqueueHot(rig.hot("t"));
        dispatcher.enqueueCold(rig.cold("t"));

        assertThat(rig.metrics.last("recordQueueDepths")).containsExactly(2, 1);
    }

    @Test
    void committed_events_go_into_the_hot_queue_through_the_hook() {
        rig.on("t", event -> {});
        OutboxDispatcher dispatcher = rig.start(builder -> builder);
        FakeTx tx = FakeTx.active();
        String id = new OutboxWriter(tx, rig.store, new DispatcherCommitHook(dispatcher)).write("t", "{}");
        assertCount("incrementHotEnqueued", 0);

        tx.commit();

        eventually(() -> assertThat(rig.store.status(id)).isEqualTo(EventStatus.DONE));
        assertCount("incrementHotEnqueued", 1);
    }

    @Test
    void a_full_hot_queue_is_warned_about_once_and_each_drop_counted() {
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(0).hotQueueCapacity(2));
        AfterCommitHook hook = new DispatcherCommitHook(dispatcher);

        try (CapturedLog log = CapturedLog.of(DispatcherCommitHook.class)) {
            for (int i = 0; i < 10; i++) {
                hook.onCommit(rig.store.given("t"));
            }

            assertThat(log.messages(Level.WARNING)).singleElement().asString().contains("left to the poller");
        }
        assertCount("incrementHotEnqueued", 2);
        assertCount("incrementHotDropped", 8);
        assertThat(rig.store.calls()).isEmpty();
    }

    @Test
    void a_hook_may_count_drops_with_an_exporter_of_its_own() {
        CountedMetrics own = new CountedMetrics();
        OutboxDispatcher dispatcher = rig.start(builder -> builder);
        AfterCommitHook hook = new DispatcherCommitHook(dispatcher, own.exporter());
        dispatcher.close();

        try (CapturedLog log = CapturedLog.of(DispatcherCommitHook.class)) {
            hook.onCommit(EventEnvelope.ofJson("t", "{}"));

            assertThat(log.messages(Level.WARNING)).hasSize(1);
        }
        assertThat(own.count("incrementHotDropped")).isEqualTo(1);
        assertCount("incrementHotDropped", 0);
    }

    private void assertCount(String method, int count) {
        assertThat(rig.metrics.count(method)).as(method).isEqualTo(count);
    }
}
