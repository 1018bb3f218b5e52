package outbox.reconcile;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class BoundedFinderTest {

    private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");
    private static final FactSearch SEARCH = new FactSearch("enrollment", NOW.minusSeconds(60), NOW, null, 2);

    @Test
    @Timeout(60)
    void a_finder_that_has_returned_is_asked_again_though_its_thread_has_not_ended() throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        ThreadFactory slowToEnd = task -> new Thread(() -> {
            task.run();
            await(end);
        });
        BoundedFinder finder = finder(slowToEnd);

        try {
            finder.find(SEARCH);

            assertThat(finder.find(SEARCH).events()).isEmpty();
        } finally {
            end.countDown();
        }
    }

    @Test
    void a_finder_whose_thread_could_not_be_started_is_asked_again() throws Exception {
        AtomicBoolean full = new AtomicBoolean(true);
        ThreadFactory sometimesFull = task -> new Thread(task) {
            @Override
            public synchronized void start() {
                if (full.get()) {
                    throw new OutOfMemoryError("unable to create native thread");
                }
                super.start();
            }
        };
        BoundedFinder finder = finder(sometimesFull);
        assertThatThrownBy(() -> finder.find(SEARCH)).isInstanceOf(OutOfMemoryError.class);

        full.set(false);

        assertThat(finder.find(SEARCH).events()).isEmpty();
    }

    private static BoundedFinder finder(ThreadFactory threads) {
        ReconcileJob job = ReconcileJob.builder("enrollment")
                .every(Duration.ofMinutes(1))
                .finder(search -> Found.last(List.of()))
                .build();
        return new BoundedFinder(job, threads);
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await(60, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
