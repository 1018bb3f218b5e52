package outbox.spring.boot.actuate;

import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

class TimedReadingTest {

    private static final Duration LONG = Duration.ofMinutes(1);

    private final AtomicInteger reads = new AtomicInteger();

    @Test
    void what_was_read_is_kept_for_a_while() {
        TimedReading<Integer> reading = new TimedReading<>("t", reads::incrementAndGet, LONG, LONG);

        assertThat(reading.get().value()).isEqualTo(1);
        assertThat(reading.get().value()).isEqualTo(1);
    }

    @Test
    void what_is_not_kept_is_read_again() {
        TimedReading<Integer> reading = new TimedReading<>("t", reads::incrementAndGet, Duration.ZERO, LONG);

        reading.get();

        await().until(() -> Integer.valueOf(2).equals(reading.get().value()));
    }

    @Test
    void who_does_not_wait_gets_what_was_read_last() {
        CountDownLatch first = new CountDownLatch(1);
        CountDownLatch second = new CountDownLatch(1);
        TimedReading<Integer> reading = new TimedReading<>(
                "t",
                () -> {
                    int read = reads.incrementAndGet();
                    awaitOpen(read == 1 ? first : second);
                    return read;
                },
                Duration.ZERO,
                LONG);

        assertThat(reading.last()).isNull();
        first.countDown();
        await().until(() -> reading.last() != null && reads.get() == 2);
        assertThat(reading.last()).isEqualTo(1);
        second.countDown();
        await().untilAsserted(() -> assertThat(reading.last()).isGreaterThan(1));
    }

    private static void awaitOpen(CountDownLatch gate) {
        try {
            gate.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void a_failure_is_an_answer() {
        TimedReading<Integer> reading = new TimedReading<>(
                "t",
                () -> {
                    throw new IllegalStateException("away");
                },
                LONG,
                LONG);

        assertThat(reading.get().failure()).contains("away");
        assertThat(reading.get().value()).isNull();
    }

    @Test
    void who_asks_does_not_wait_longer_than_agreed_and_starts_no_second_read() throws InterruptedException {
        CountDownLatch gate = new CountDownLatch(1);
        TimedReading<Integer> reading = new TimedReading<>(
                "t",
                () -> {
                    reads.incrementAndGet();
                    awaitOpen(gate);
                    return 7;
                },
                LONG,
                Duration.ofMillis(20));

        assertThat(reading.get().failure()).contains("within 20 ms");
        assertThat(reading.get().failure()).contains("within 20 ms");
        gate.countDown();

        await().until(() -> Integer.valueOf(7).equals(reading.get().value()));
        assertThat(reads).hasValue(1);
    }
}
