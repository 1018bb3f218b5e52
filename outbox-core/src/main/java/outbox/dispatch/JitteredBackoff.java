package outbox.dispatch;

import java.util.function.LongUnaryOperator;

/** Doubles the wait up to a maximum, and adds a random time. Immutable. */
final class JitteredBackoff implements RetryPolicy {

    private final long firstMs;
    private final long longestMs;
    private final long jitterMs;
    private final LongUnaryOperator random;

    /** @param random returns a number from zero up to, but excluding, its argument */
    JitteredBackoff(long firstMs, long longestMs, long jitterMs, LongUnaryOperator random) {
        if (longestMs < firstMs) {
            throw new IllegalArgumentException(
                    "longest must not be shorter than first: " + longestMs + " ms < " + firstMs + " ms");
        }
        this.firstMs = firstMs;
        this.longestMs = longestMs;
        this.jitterMs = jitterMs;
        this.random = random;
    }

    @Override
    public long computeDelayMs(int attempts) {
        int doublings = Math.max(1, attempts) - 1;
        boolean beyond = doublings >= Long.numberOfLeadingZeros(firstMs) - 1; // the shift would overflow
        long wait = beyond ? longestMs : Math.min(longestMs, firstMs << doublings);
        long more = random.applyAsLong(jitterMs == Long.MAX_VALUE ? jitterMs : jitterMs + 1);
        return wait > Long.MAX_VALUE - more ? Long.MAX_VALUE : wait + more;
    }
}
