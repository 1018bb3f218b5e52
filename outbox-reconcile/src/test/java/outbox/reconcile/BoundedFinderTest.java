package outbox.reconcile;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;

class BoundedFinderTest {

    private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");

    @Test
    @Timeout(60)
    void a_finder_that_has_returned_is_asked_again_though_its_thread_has_not_ended() throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        ThreadFactory slowToEnd = task -> new Thread(() -> {
            task.run();
            await(end);
        });
        ReconcileJob job = ReconcileJob.builder("enrollment")
                .every(Duration.ofMinutes(1))
                .finder(search -> Found.last(List.of()))
                .build();
        BoundedFinder finder = new BoundedFinder(job, slowToEnd);
        FactSearch search = new FactSearch("enrollment", NOW.minusSeconds(60), NOW, null, 2);

        try {
            finder.find(search);

            assertThat(finder.find(search).events()).isEmpty();
        } finally {
            end.countDown();
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await(60, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
