package outbox.dispatch;

import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** The backoff of a relay: it doubles up to a limit, and a small random time is added. */
class JitterTest {

    private static final Duration FIRST = Duration.ofSeconds(1);
    private static final Duration LONGEST = Duration.ofSeconds(60);
    private static final Duration JITTER = Duration.ofMillis(200);

    @Test
    void the_wait_doubles_up_to_the_longest() {
        RetryPolicy policy = new JitteredBackoff(1000, 60_000, 200, bound -> 0);

        assertThat(IntStream.rangeClosed(1, 8).mapToLong(policy::computeDelayMs))
                .containsExactly(1000L, 2000L, 4000L, 8000L, 16_000L, 32_000L, 60_000L, 60_000L);
        assertThat(policy.computeDelayMs(Integer.MAX_VALUE)).isEqualTo(60_000);
        assertThat(policy.computeDelayMs(0)).isEqualTo(1000);
    }

    @Test
    void chance_adds_up_to_the_jitter_and_comes_from_the_given_source() {
        RetryPolicy most = new JitteredBackoff(1000, 60_000, 200, bound -> bound - 1);
        RetryPolicy any = RetryPolicy.exponential(FIRST, LONGEST, JITTER);

        assertThat(most.computeDelayMs(1)).isEqualTo(1200);
        assertThat(most.computeDelayMs(20)).isEqualTo(60_200);
        for (int i = 0; i < 1000; i++) {
            assertThat(any.computeDelayMs(2)).isBetween(2000L, 2200L);
        }
    }

    @Test
    void nothing_overflows() {
        RetryPolicy policy = new JitteredBackoff(1000, Long.MAX_VALUE, Long.MAX_VALUE, bound -> bound - 1);
        Duration ages = Duration.ofSeconds(Long.MAX_VALUE);

        assertThat(policy.computeDelayMs(70)).isEqualTo(Long.MAX_VALUE);
        assertThat(policy.computeDelayMs(50)).isEqualTo(Long.MAX_VALUE);
        assertThat(RetryPolicy.exponential(FIRST, ages, ages).computeDelayMs(70))
                .isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void a_longest_wait_that_is_shorter_than_the_first_is_refused() {
        assertThatThrownBy(() -> RetryPolicy.exponential(LONGEST, Duration.ofSeconds(59), JITTER))
                .hasMessageContaining("longest must not be shorter than first");
    }
}
