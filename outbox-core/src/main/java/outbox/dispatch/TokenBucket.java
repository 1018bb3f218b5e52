package outbox.dispatch;

/**
 * A bucket of tokens, filled evenly. Counts in whole nanoseconds times events, so nothing is rounded and nothing drifts: over any time it gives what the rate says, plus at most the
 * burst. Guarded by its user.
 */
final class TokenBucket {

    private final long perToken; // a token costs the nanoseconds of "per"; each nanosecond brings "events"
    private final long events;
    private final long burst;
    private final long burstAndALittle; // less than a token more
    private long level;
    private long lastNanos;

    TokenBucket(Limit.Rate rate, long nowNanos) {
        perToken = rate.per().toNanos();
        events = rate.events();
        burst = rate.burst() * perToken;
        burstAndALittle = burst + perToken - 1;
        level = burst;
        lastNanos = nowNanos;
    }

    boolean hasToken(long nowNanos) {
        fill(nowNanos);
        return level >= perToken;
    }

    void take() {
        level -= perToken;
    }

    boolean isFull(long nowNanos) {
        fill(nowNanos);
        return level >= burst;
    }

    /** In how many nanoseconds there will be a token; zero if there is one. */
    long nanosToToken(long nowNanos) {
        return hasToken(nowNanos) ? 0 : (perToken - level + events - 1) / events;
    }

    private void fill(long nowNanos) {
        long elapsed = nowNanos - lastNanos; // right even where the clock overflows
        if (elapsed <= 0) {
            return;
        }
        lastNanos = nowNanos;
        // What is left over when the clock is looked at a little late is kept, so nothing drifts; a quiet time leaves
        // no more than the burst.
        level = elapsed > (burstAndALittle - level) / events ? burst : level + elapsed * events;
    }
}
