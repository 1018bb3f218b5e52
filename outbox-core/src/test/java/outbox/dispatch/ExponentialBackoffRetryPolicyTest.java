package outbox.dispatch;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.math.BigInteger;
import java.util.Random;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * {@code delay = min(maxDelay, baseDelay * 2^(attempts-1)) * random(0.5, 1.5)}, computed here without the range
 * limits of a long.
 */
class ExponentialBackoffRetryPolicyTest {

    @ParameterizedTest
    @CsvSource({
        "-2147483648",
        "-1",
        "0",
        "1",
        "2",
        "3",
        "8",
        "9",
        "10",
        "31",
        "32",
        "33",
        "55",
        "56",
        "57",
        "62",
        "63",
        "64",
        "65",
        "310",
        "2147483646",
        "2147483647"
    })
    void a_delay_is_within_the_range_of_the_formula(int attempts) {
        for (int i = 0; i < 200; i++) {
            assertInRange(200, 60_000, attempts);
        }
    }

    @Test
    void any_base_limit_and_attempt_stay_within_the_range() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        for (int i = 0; i < 20_000; i++) {
            long base = 1 + (random.nextLong() >>> (1 + random.nextInt(62)));
            long max = base + Math.min(Long.MAX_VALUE - base, random.nextLong() >>> (1 + random.nextInt(62)));
            int attempts = random.nextInt() >> random.nextInt(32);
            try {
                assertInRange(base, max, attempts);
            } catch (AssertionError e) {
                throw new AssertionError("seed " + seed + ", round " + i, e);
            }
        }
    }

    @Test
    void the_largest_values_do_not_overflow() {
        for (int i = 0; i < 200; i++) {
            assertInRange(Long.MAX_VALUE, Long.MAX_VALUE, Integer.MAX_VALUE);
            assertInRange(1, Long.MAX_VALUE, 63);
            assertInRange(1, Long.MAX_VALUE, 64);
        }
    }

    @Test
    void delays_are_spread() {
        ExponentialBackoffRetryPolicy policy = new ExponentialBackoffRetryPolicy(1_000_000, 1_000_000);
        long least = Long.MAX_VALUE;
        long most = 0;
        for (int i = 0; i < 1000; i++) {
            long delay = policy.computeDelayMs(1);
            least = Math.min(least, delay);
            most = Math.max(most, delay);
        }

        assertThat(least).isBetween(500_000L, 600_000L);
        assertThat(most).isBetween(1_400_000L, 1_500_000L);
    }

    @ParameterizedTest
    @CsvSource({"0,0,1", "0,60000,1", "0,60000,2", "0,60000,64", "0,60000,65", "0,9223372036854775807,2147483647"})
    void a_base_delay_of_zero_never_waits(long base, long max, int attempts) {
        assertThat(new ExponentialBackoffRetryPolicy(base, max).computeDelayMs(attempts))
                .isZero();
    }

    @ParameterizedTest
    @CsvSource({"-1,1", "2,1", "1,-1", "0,-1"})
    void senseless_settings_are_refused(long base, long max) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new ExponentialBackoffRetryPolicy(base, max))
                .withMessageContaining("baseDelayMs")
                .withMessageContaining("maxDelayMs");
    }

    private static void assertInRange(long base, long max, int attempts) {
        int doublings = (int) Math.max(0, Math.min(200, attempts - 1L));
        BigInteger delay = BigInteger.valueOf(base).shiftLeft(doublings).min(BigInteger.valueOf(max));
        long least = delay.divide(BigInteger.TWO).longValueExact();
        long most = delay.multiply(BigInteger.valueOf(3))
                .divide(BigInteger.TWO)
                .min(BigInteger.valueOf(Long.MAX_VALUE))
                .longValueExact();

        long actual = new ExponentialBackoffRetryPolicy(base, max).computeDelayMs(attempts);

        long rounding = most >> 52; // a double has 53 bits
        assertThat(actual)
                .as("base %d, max %d, attempts %d", base, max, attempts)
                .isNotNegative()
                .isGreaterThanOrEqualTo(least - rounding)
                .isLessThanOrEqualTo(Long.MAX_VALUE - most < rounding ? Long.MAX_VALUE : most + rounding);
    }
}
