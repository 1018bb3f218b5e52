package outbox.dispatch;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongUnaryOperator;
import java.util.stream.Stream;

/**
 * Predefined {@link RetryPolicy retry policies}. A lambda can be a policy too. {@link ExponentialBackoffRetryPolicy}
 * is the default of a dispatcher. The calculations do not overflow: a result that is too large becomes the maximum.
 */
public final class RetryPolicies {

    private RetryPolicies() {}

    /**
     * Doubles the wait from {@code first} up to {@code longest}, multiplied by a random factor between 0.5 and 1.5.
     */
    public static RetryPolicy exponential(Duration first, Duration longest) {
        return new ExponentialBackoffRetryPolicy(millis("first", first), millis("longest", longest));
    }

    /** Doubles the wait from {@code first} up to {@code longest}, and adds a random time of up to {@code jitter}. */
    public static RetryPolicy exponential(Duration first, Duration longest, Duration jitter) {
        return exponential(
                first, longest, jitter, bound -> ThreadLocalRandom.current().nextLong(bound));
    }

    /**
     * Takes random numbers from the given source, which must return a number from zero up to, but
     * excluding, its argument.
     */
    static RetryPolicy exponential(Duration first, Duration longest, Duration jitter, LongUnaryOperator random) {
        long base = millis("first", first);
        long most = millis("longest", longest);
        long spread = millis("jitter", jitter);
        if (most < base) {
            throw new IllegalArgumentException("longest must not be shorter than first: " + longest + " < " + first);
        }
        return attempts -> {
            int doublings = Math.max(1, attempts) - 1;
            boolean beyond = doublings >= Long.numberOfLeadingZeros(base) - 1; // the shift would overflow
            long wait = beyond ? most : Math.min(most, base << doublings);
            long more = random.applyAsLong(spread == Long.MAX_VALUE ? spread : spread + 1);
            return wait > Long.MAX_VALUE - more ? Long.MAX_VALUE : wait + more;
        };
    }

    /** Returns a policy that always waits the same time. */
    public static RetryPolicy fixed(Duration wait) {
        long millis = millis("wait", wait);
        return attempts -> millis;
    }

    /**
     * Waits {@code step} after the first attempt, twice as long after the second, and so on up to {@code longest}.
     */
    public static RetryPolicy linear(Duration step, Duration longest) {
        long each = millis("step", step);
        long most = millis("longest", longest);
        if (most < each) {
            throw new IllegalArgumentException("longest must not be shorter than step: " + longest + " < " + step);
        }
        return attempts -> {
            int times = Math.max(1, attempts);
            return times > most / each ? most : each * times;
        };
    }

    /** Uses the given waits one after the other. The last one repeats. */
    public static RetryPolicy series(Duration first, Duration... next) {
        List<Long> waits = Stream.concat(Stream.of(first), Arrays.stream(next))
                .map(wait -> millis("wait", wait))
                .toList();
        return attempts -> waits.get(Math.min(Math.max(1, attempts), waits.size()) - 1);
    }

    /**
     * Like {@link #series(Duration, Duration...)}, from a list, for example from a setting. Throws if the
     * list is empty.
     */
    public static RetryPolicy series(List<Duration> waits) {
        if (waits.isEmpty()) {
            throw new IllegalArgumentException("waits must not be empty");
        }
        return series(waits.get(0), waits.subList(1, waits.size()).toArray(Duration[]::new));
    }

    /** Converts to milliseconds, at most {@link Long#MAX_VALUE}. Throws if the value is less than a millisecond. */
    private static long millis(String setting, Duration value) {
        if (value.compareTo(Duration.ofMillis(1)) < 0) {
            throw new IllegalArgumentException(setting + " must be at least a millisecond: " + value);
        }
        return value.compareTo(Duration.ofMillis(Long.MAX_VALUE)) >= 0 ? Long.MAX_VALUE : value.toMillis();
    }
}
