package outbox.cli;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

@Timeout(60)
class BackgroundReadingTest {

    private static final Duration OFTEN = Duration.ofMillis(5);

    private static int last(BackgroundReading<Integer> reading) {
        return reading.last().map(BackgroundReading.Sample::value).orElse(-1);
    }

    @Test
    void who_asks_does_not_wait_for_a_read_that_hangs() throws Exception {
        CountDownLatch answers = new CountDownLatch(1);
        AtomicInteger reads = new AtomicInteger();
        try (BackgroundReading<Integer> reading = BackgroundReading.start(
                "numbers",
                () -> {
                    answers.await(40, TimeUnit.SECONDS);
                    return reads.incrementAndGet();
                },
                OFTEN)) {
            assertThat(reading.last()).isEmpty();
            Duration since = reading.sinceSuccess();
            assertThat(reading.sinceSuccess()).isGreaterThanOrEqualTo(since);

            answers.countDown();

            await().until(() -> last(reading) > 2);
        }
    }

    @Test
    void the_last_value_stays_while_reads_fail_and_gets_older() {
        AtomicBoolean down = new AtomicBoolean();
        AtomicInteger failures = new AtomicInteger();
        try (BackgroundReading<Integer> reading = BackgroundReading.start(
                "numbers",
                () -> {
                    if (down.get()) {
                        failures.incrementAndGet();
                        throw new IllegalStateException("away");
                    }
                    return 7;
                },
                OFTEN)) {
            await().until(() -> last(reading) == 7);
            down.set(true);

            await().until(() -> failures.get() > 2);

            assertThat(last(reading)).isEqualTo(7);
            Duration age = reading.sinceSuccess();
            assertThat(age).isPositive();
            await().until(() -> reading.sinceSuccess().compareTo(age) > 0);
            down.set(false);
            await().until(() -> reading.sinceSuccess().compareTo(age) < 0
                    || reading.last().orElseThrow().age().compareTo(age) < 0);
        }
    }

    @Test
    void a_close_ends_the_thread() {
        BackgroundReading<Integer> reading = BackgroundReading.start("closed-soon", () -> 1, Duration.ofHours(1));

        reading.close();

        await().until(() -> Thread.getAllStackTraces().keySet().stream()
                .noneMatch(thread -> thread.getName().contains("closed-soon")));
    }
}
