package outbox.dispatch;

import java.util.concurrent.ThreadLocalRandom;

/**
 * Doubles the wait with each attempt up to a limit, then multiplies it by a random factor between 0.5 and 1.5, so
 * that events that failed together are not retried together.
 */
public final class ExponentialBackoffRetryPolicy implements RetryPolicy {

    private final long baseDelayMs;
    private final long maxDelayMs;

    /** @param baseDelayMs the wait after the first attempt; with 0 there is never a wait */
    public ExponentialBackoffRetryPolicy(long baseDelayMs, long maxDelayMs) {
        if (baseDelayMs < 0 || maxDelayMs < baseDelayMs) {
            throw new IllegalArgumentException(
                    "Need 0 <= baseDelayMs <= maxDelayMs, not " + baseDelayMs + " and " + maxDelayMs);
        }
        this.baseDelayMs = baseDelayMs;
        this.maxDelayMs = maxDelayMs;
    }

    @Override
    public long computeDelayMs(int attempts) {
        if (baseDelayMs == 0) {
            return 0;
        }
        int doublings = Math.max(1, attempts) - 1;
        boolean beyond = doublings >= Long.numberOfLeadingZeros(baseDelayMs); // the shift would overflow
        long delay = beyond ? maxDelayMs : Math.min(maxDelayMs, baseDelayMs << doublings);
        return (long) (delay * ThreadLocalRandom.current().nextDouble(0.5, 1.5)); // the cast saturates
    }
}
