package outbox.micrometer;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.admin.Backlog;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TableSamplerTest {

    private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 5); // starts near the overflow
    private final Counter failures = new SimpleMeterRegistry().counter("failures");
    private final AtomicInteger reads = new AtomicInteger();

    private TableSampler<Backlog> sampler(Duration timeout, Supplier<Backlog> source) {
        return new TableSampler<>(
                "t",
                () -> {
                    reads.incrementAndGet();
                    return source.get();
                },
                Duration.ofSeconds(10),
                timeout,
                failures,
                nanos::get);
    }

    private static Backlog pending(long events) {
        return new Backlog(Instant.EPOCH, events, 0, null);
    }

    private void pass(Duration time) {
        nanos.addAndGet(time.toNanos());
    }

    private static long pending(@Nullable Backlog backlog) {
        return backlog == null ? -1 : backlog.pending();
    }

    @Test
    void the_table_is_read_when_it_is_asked_for_and_not_more_often_than_allowed() {
        TableSampler<Backlog> sampler = sampler(Duration.ofSeconds(30), () -> pending(reads.get()));
        assertThat(reads).hasValue(0);

        assertThat(pending(sampler.current())).isEqualTo(1);
        pass(Duration.ofSeconds(9));
        assertThat(pending(sampler.current())).isEqualTo(1);
        pass(Duration.ofSeconds(1));
        assertThat(pending(sampler.current())).isEqualTo(2);

        assertThat(reads).hasValue(2);
        assertThat(failures.count()).isZero();
    }

    @Test
    void a_failure_is_counted_and_the_last_sample_kept_for_a_minute() {
        TableSampler<Backlog> sampler = sampler(Duration.ofSeconds(30), () -> {
            if (reads.get() > 1) {
                throw new NoClassDefFoundError("broken");
            }
            return pending(7);
        });
        sampler.current();

        pass(Duration.ofSeconds(50));
        assertThat(pending(sampler.current())).isEqualTo(7);
        assertThat(failures.count()).isEqualTo(1);
        pass(Duration.ofSeconds(11));
        assertThat(sampler.current()).isNull();
        assertThat(failures.count()).isEqualTo(2);
    }

    @Test
    void a_table_that_does_not_answer_holds_a_scrape_no_longer_than_allowed_and_is_asked_once_at_a_time() {
        CountDownLatch answer = new CountDownLatch(1);
        TableSampler<Backlog> sampler = sampler(Duration.ofMillis(50), () -> {
            try {
                answer.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            return pending(7);
        });

        long start = System.nanoTime();
        assertThat(sampler.current()).isNull();
        assertThat(System.nanoTime() - start).isBetween(50_000_000L, 20_000_000_000L);
        assertThat(failures.count()).isEqualTo(1);
        pass(Duration.ofSeconds(10));
        assertThat(sampler.current()).isNull();
        assertThat(reads).hasValue(1);
        assertThat(failures.count()).isEqualTo(2);

        answer.countDown();
        // a late result is still used
        await().atMost(30, TimeUnit.SECONDS).until(() -> pending(sampler.current()) == 7);
        assertThat(reads).hasValue(1);
    }

    @Test
    void an_age_is_never_unknown_and_grows_while_the_table_cannot_be_read() {
        AtomicBoolean down = new AtomicBoolean(true);
        TableSampler<Backlog> sampler = sampler(Duration.ofSeconds(30), () -> {
            if (down.get()) {
                throw new IllegalStateException("away");
            }
            return pending(7);
        });

        assertThat(sampler.age(backlog -> 100)).isZero();
        pass(Duration.ofSeconds(40));
        assertThat(sampler.age(backlog -> 100)).isEqualTo(40); // since the start, because there is no sample
        down.set(false);
        pass(Duration.ofSeconds(10));
        assertThat(sampler.age(backlog -> 100)).isEqualTo(100);
        down.set(true);
        pass(Duration.ofSeconds(50));
        assertThat(sampler.age(backlog -> 100)).isEqualTo(100);
        pass(Duration.ofSeconds(50));
        assertThat(sampler.age(backlog -> 100)).isEqualTo(200);
        assertThat(sampler.current()).isNull();
        assertThat(pending(sampler.last())).isEqualTo(7);
    }

    @Test
    void an_interrupted_scrape_is_answered_and_stays_interrupted() {
        CountDownLatch answer = new CountDownLatch(1);
        TableSampler<Backlog> sampler = sampler(Duration.ofSeconds(30), () -> {
            try {
                answer.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            return pending(7);
        });

        Thread.currentThread().interrupt();
        assertThat(sampler.current()).isNull();

        assertThat(Thread.interrupted()).isTrue();
        answer.countDown();
    }
}
