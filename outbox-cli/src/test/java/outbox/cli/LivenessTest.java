package outbox.cli;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

@Timeout(30)
class LivenessTest {

    private static final Duration LIMIT = Duration.ofMillis(200);

    private final CountDownLatch answers = new CountDownLatch(1);
    private final AtomicInteger questions = new AtomicInteger();

    private boolean hang() {
        questions.incrementAndGet();
        try {
            return answers.await(20, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            return false;
        }
    }

    @Test
    void silence_is_a_no_within_the_limit_and_asked_once() {
        try (Liveness liveness = new Liveness(this::hang, LIMIT, Duration.ZERO)) {
            long start = System.nanoTime();

            for (int i = 0; i < 5; i++) {
                assertThat(liveness.isThere()).isFalse();
            }

            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(5));
            assertThat(questions).hasValue(1);
            answers.countDown();
            await().until(liveness::isThere);
        }
    }

    @Test
    void an_answer_is_kept_for_a_moment() {
        answers.countDown();
        try (Liveness liveness = new Liveness(this::hang, Duration.ofSeconds(10), Duration.ofMinutes(1))) {
            assertThat(liveness.isThere()).isTrue();
            assertThat(liveness.isThere()).isTrue();
            assertThat(questions).hasValue(1);
        }
    }

    @Test
    void a_question_that_fails_is_a_no() {
        try (Liveness liveness = new Liveness(
                () -> {
                    throw new IllegalStateException("closed");
                },
                LIMIT,
                Duration.ZERO)) {
            assertThat(liveness.isThere()).isFalse();
        }
    }
}
