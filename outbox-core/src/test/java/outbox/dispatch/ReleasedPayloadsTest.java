package outbox.dispatch;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.dispatch.QueuedEvent.Source;
import outbox.fake.FakeLeadership;
import outbox.fake.ScriptedStore;
import outbox.spi.Claim;
import outbox.spi.LeasingEventStore;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

import static org.assertj.core.api.Assertions.assertThat;
import static outbox.fake.Eventually.eventually;

/**
 * Events that the queues no longer count must not stay in memory, however long the outcome writer needs to
 * release them.
 */
class ReleasedPayloadsTest {

    private static final int EVENTS = 200;
    private static final int PAYLOAD = 256 << 10; // 50 MiB in total, three times the limit

    private final DispatcherRig rig = new DispatcherRig();
    private final CountDownLatch stalled = rig.gate();
    private final CountDownLatch atRelease = new CountDownLatch(1);
    private final AtomicInteger released = new AtomicInteger();
    private final List<WeakReference<EventEnvelope>> written = new ArrayList<>();

    @AfterEach
    void close() {
        rig.close();
    }

    @Test
    void events_that_found_no_room_are_not_kept_while_their_release_waits() throws InterruptedException {
        OutboxDispatcher dispatcher = rig.start(builder -> slow(builder).hotQueueCapacity(1));
        DispatcherCommitHook hook = new DispatcherCommitHook(dispatcher);
        Claim birth = Objects.requireNonNull(hook.birthClaim(1, 0));

        for (int i = 0; i < EVENTS; i++) {
            hook.onCommit(event(), birth);
        }
        DispatcherRig.await(atRelease);

        eventually(() -> assertThat(inMemory()).isEqualTo(1)); // the one in the queue
        stalled.countDown();
        eventually(() -> assertThat(released).hasValue(EVENTS - 1));
    }

    @Test
    void events_that_may_not_be_delivered_are_not_kept_while_their_release_waits() throws InterruptedException {
        FakeLeadership leadership = new FakeLeadership();
        OutboxDispatcher dispatcher = rig.start(builder -> slow(builder).leadership(leadership));
        Claim birth = Objects.requireNonNull(dispatcher.birthClaim(1, 0));
        leadership.sure = false;

        for (int i = 0; i < EVENTS; i++) {
            assertThat(dispatcher.enqueueHot(new QueuedEvent(event(), Source.HOT, 0), birth))
                    .isTrue();
        }
        DispatcherRig.await(atRelease);

        eventually(() -> assertThat(inMemory()).isZero());
        stalled.countDown();
        eventually(() -> assertThat(released).hasValue(EVENTS));
    }

    @Test
    void events_that_waited_at_a_close_are_not_kept_while_their_release_waits() throws InterruptedException {
        OutboxDispatcher dispatcher = rig.start(builder -> slow(builder).drainQueues(false));
        Claim birth = Objects.requireNonNull(dispatcher.birthClaim(1, 0));
        for (int i = 0; i < 60; i++) {
            assertThat(dispatcher.enqueueHot(new QueuedEvent(event(), Source.HOT, 0), birth))
                    .isTrue();
        }

        Thread closing = new Thread(dispatcher::close);
        closing.start();
        DispatcherRig.await(atRelease);

        eventually(() -> assertThat(inMemory()).isZero());
        stalled.countDown();
        closing.join(10_000);
        assertThat(released).hasValue(60);
    }

    /** Starts a dispatcher without workers, on a store whose releases block. */
    private OutboxDispatcher.Builder slow(OutboxDispatcher.Builder builder) {
        LeasingEventStore store = ScriptedStore.of((self, method, arguments) -> {
            if (method.getName().equals("release")) {
                atRelease.countDown();
                DispatcherRig.passUninterruptibly(stalled);
                return released.addAndGet(((Collection<?>) arguments[2]).size());
            }
            return null;
        });
        return builder.eventStore(store).workerCount(0).maxQueuedBytes(16 << 20);
    }

    private EventEnvelope event() {
        EventEnvelope event =
                EventEnvelope.builder("t").payloadJson("x".repeat(PAYLOAD)).build();
        written.add(new WeakReference<>(event));
        return event;
    }

    private long inMemory() {
        System.gc();
        return written.stream().filter(event -> event.get() != null).count();
    }
}
