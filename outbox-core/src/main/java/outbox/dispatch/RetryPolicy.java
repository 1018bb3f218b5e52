package outbox.dispatch;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Stream;

/**
 * Decides how long an event waits before its next attempt. Called on worker threads.
 *
 * <p>The static methods return the usual policies. {@link ExponentialBackoffRetryPolicy} is the default of a
 * dispatcher. The calculations do not overflow: a result that is too large becomes the maximum.
 */
@FunctionalInterface
public interface RetryPolicy {

    /**
     * Returns the wait in milliseconds.
     *
     * @param attempts how many attempts have failed so far, counted from 1
     */
    long computeDelayMs(int attempts);

    /**
     * Doubles the wait from {@code first} up to {@code longest}, multiplied by a random factor between 0.5 and 1.5.
     */
    static RetryPolicy exponential(Duration first, Duration longest) {
        return new ExponentialBackoffRetryPolicy(millis("first", first), millis("longest", longest));
    }

    /** Doubles the wait from {@code first} up to {@code longest}, and adds a random time of up to {@code jitter}. */
    static RetryPolicy exponential(Duration first, Duration longest, Duration jitter) {
        return new JitteredBackoff(
                millis("first", first),
                millis("longest", longest),
                millis("jitter", jitter),
                bound -> ThreadLocalRandom.current().nextLong(bound));
    }

    /** Returns a policy that always waits the same time. */
    static RetryPolicy fixed(Duration wait) {
        long millis = millis("wait", wait);
        return attempts -> millis;
    }

    /**
     * Waits {@code step} after the first attempt, twice as long after the second, and so on up to {@code longest}.
     */
    static RetryPolicy linear(Duration step, Duration longest) {
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
    static RetryPolicy series(Duration first, Duration... next) {
        List<Long> waits = Stream.concat(Stream.of(first), Arrays.stream(next))
                .map(wait -> millis("wait", wait))
                .toList();
        return attempts -> waits.get(Math.min(Math.max(1, attempts), waits.size()) - 1);
    }

    /**
     * Like {@link #series(Duration, Duration...)}, from a list, for example from a setting. Throws if the
     * list is empty.
     */
    static RetryPolicy series(List<Duration> waits) {
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
