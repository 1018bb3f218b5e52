package outbox.dispatch;

import outbox.dispatch.Protection.Limit;

/**
 * A token bucket that is filled evenly. It counts in whole nanoseconds times events, so nothing is rounded and
 * nothing drifts: over any period it grants the rate plus at most the burst. The caller must guard it with a lock.
 */
final class TokenBucket {

    private final long perToken; // a token costs the nanoseconds of "per"; each nanosecond adds "events"
    private final long events;
    private final long burst;
    private final long burstAndALittle; // the burst plus less than one token
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

    /** Returns the nanoseconds until there is a token; zero if there is one. */
    long nanosToToken(long nowNanos) {
        return hasToken(nowNanos) ? 0 : (perToken - level + events - 1) / events;
    }

    private void fill(long nowNanos) {
        long elapsed = nowNanos - lastNanos; // correct even if the clock overflows
        if (elapsed <= 0) {
            return;
        }
        lastNanos = nowNanos;
        // If the clock is checked a little late, the remainder is kept, so that the rate does not drift. After an
        // idle time, no more than the burst is left.
        level = elapsed > (burstAndALittle - level) / events ? burst : level + elapsed * events;
    }
}
