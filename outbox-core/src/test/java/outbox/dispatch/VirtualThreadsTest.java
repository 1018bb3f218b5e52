package outbox.dispatch;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import outbox.model.EventStatus;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static outbox.fake.Eventually.eventually;

/**
 * A JVM without virtual threads rejects the setting. On a JVM with virtual threads, the workers are virtual threads.
 */
class VirtualThreadsTest {

    private static final boolean AVAILABLE = Runtime.version().feature() >= 21;

    private final DispatcherRig rig = new DispatcherRig();

    @AfterEach
    void close() {
        rig.close();
    }

    @Test
    void without_virtual_threads_the_setting_is_refused_with_the_version_that_has_them() {
        if (AVAILABLE) {
            assertThat(rig.builder().virtualThreads(true)).isNotNull();
        } else {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> rig.builder().virtualThreads(true))
                    .withMessageContaining("Java 21")
                    .withMessageContaining(Runtime.version().toString());
        }
        assertThat(rig.builder().virtualThreads(false)).isNotNull();
    }

    @Test
    void many_listeners_wait_at_a_time_each_on_a_thread_of_its_own() {
        int workers = AVAILABLE ? 200 : 8;
        CyclicBarrier together = new CyclicBarrier(workers);
        List<String> names = new CopyOnWriteArrayList<>();
        rig.on("t", event -> {
            names.add(Thread.currentThread().getName());
            assertThat(isVirtual(Thread.currentThread())).isEqualTo(AVAILABLE);
            together.await(20, TimeUnit.SECONDS);
        });
        OutboxDispatcher dispatcher =
                rig.start(builder -> builder.workerCount(workers).virtualThreads(AVAILABLE));
        List<QueuedEvent> events =
                Stream.generate(() -> rig.hot("t")).limit(workers).toList();

        events.forEach(dispatcher::enqueueHot);

        eventually(() -> assertThat(events).allSatisfy(event -> assertStatus(event, EventStatus.DONE)));
        assertThat(names).doesNotHaveDuplicates().allMatch(name -> name.matches("outbox-\\d+-worker-\\d+"));
        dispatcher.close();
    }

    @Test
    void a_listener_past_its_time_limit_is_interrupted() {
        CountDownLatch gate = rig.gate();
        CountDownLatch interrupted = new CountDownLatch(1);
        rig.on("t", event -> {
            try {
                gate.await();
            } catch (InterruptedException e) {
                interrupted.countDown();
                throw e;
            }
        });
        QueuedEvent event = rig.hot("t");

        rig.start(builder -> builder.workerCount(1)
                        .listenerTimeLimit(Duration.ofMillis(60))
                        .virtualThreads(AVAILABLE))
                .enqueueHot(event);

        eventually(() -> assertStatus(event, EventStatus.RETRY));
        eventually(() -> assertThat(interrupted.getCount()).isZero());
    }

    private static boolean isVirtual(Thread thread) {
        try {
            return (boolean) Thread.class.getMethod("isVirtual").invoke(thread);
        } catch (NoSuchMethodException e) {
            return false;
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("isVirtual", e);
        }
    }

    private void assertStatus(QueuedEvent event, EventStatus status) {
        assertThat(rig.store.status(event.envelope().eventId())).isEqualTo(status);
    }
}
