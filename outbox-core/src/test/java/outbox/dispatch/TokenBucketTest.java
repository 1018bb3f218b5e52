package outbox.dispatch;

import org.junit.jupiter.api.Test;
import outbox.dispatch.Protection.Limit;

import java.time.Duration;
import java.util.Objects;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class TokenBucketTest {

    private final SettableNanos clock = new SettableNanos();

    @Test
    void over_an_hour_it_gives_exactly_the_rate_whatever_the_steps_of_the_clock() {
        TokenBucket bucket = bucket(Limit.rate(7, Duration.ofSeconds(3), 1));
        long taken = 0;
        Duration step = Duration.ofNanos(7_777_777);
        long steps = Duration.ofHours(1).toNanos() / step.toNanos();
        for (long i = 0; i < steps; i++) {
            clock.pass(step);
            if (bucket.hasToken(clock.getAsLong())) {
                bucket.take();
                taken++;
            }
        }

        long elapsed = steps * step.toNanos();
        assertThat(taken).isBetween(elapsed / 3_000_000_000L * 7 - 7, elapsed * 7 / 3_000_000_000L + 1);
    }

    @Test
    void after_a_quiet_time_there_is_one_burst_and_no_more() {
        TokenBucket bucket = bucket(Limit.rate(10, Duration.ofSeconds(1), 3));
        clock.pass(Duration.ofDays(300));

        assertThat(takeAll(bucket)).isEqualTo(3);
        assertThat(bucket.nanosToToken(clock.getAsLong())).isEqualTo(100_000_000);
        clock.pass(Duration.ofMillis(99));
        assertThat(takeAll(bucket)).isZero();
        clock.pass(Duration.ofMillis(1));
        assertThat(takeAll(bucket)).isEqualTo(1);
    }

    @Test
    void a_limit_that_makes_no_sense_is_refused() {
        assertThatThrownBy(() -> Limit.rate(0, Duration.ofSeconds(1))).hasMessageContaining("at least 1");
        assertThatThrownBy(() -> Limit.rate(1, Duration.ZERO)).hasMessageContaining("per must be positive");
        assertThatThrownBy(() -> Limit.rate(1, Duration.ofDays(1), Integer.MAX_VALUE))
                .hasMessageContaining("burst");
        assertThatThrownBy(() -> Limit.concurrency(0)).hasMessageContaining("concurrency must be at least 1: 0");
    }

    private int takeAll(TokenBucket bucket) {
        int taken = 0;
        while (bucket.hasToken(clock.getAsLong())) {
            bucket.take();
            taken++;
        }
        return taken;
    }

    private TokenBucket bucket(Limit limit) {
        return new TokenBucket(Objects.requireNonNull(limit.rate()), clock.getAsLong());
    }
}
