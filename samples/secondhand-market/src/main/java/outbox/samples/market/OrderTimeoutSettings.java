package outbox.samples.market;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

import java.time.Duration;

/**
 * Settings of the time-out of pending orders and of the fallback job.
 *
 * @param pendingMinutes how long an order may be pending; default 15
 * @param pending the same as a duration, such as {@code 90s}; use it instead of the minutes
 * @param jobInterval how long the job waits after a run; default a minute
 * @param jobBatch how many orders the job reads at a time; default 100
 */
@ConfigurationProperties("order.timeout")
record OrderTimeoutSettings(
        @Nullable Integer pendingMinutes,
        @Nullable Duration pending,
        @DefaultValue("1m") Duration jobInterval,
        @DefaultValue("100") int jobBatch) {

    private static final Duration LONGEST = Duration.ofDays(30);

    OrderTimeoutSettings {
        if (pendingMinutes != null && pending != null) {
            throw new IllegalArgumentException(
                    "order.timeout.pending-minutes and order.timeout.pending say the same thing: set one of them");
        }
        Duration chosen = chosen(pendingMinutes, pending);
        if (chosen.toMillis() < 1 || chosen.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException(
                    "A pending order is overdue after a millisecond at least and 30 days at most, not " + chosen);
        }
        if (jobInterval.toMillis() < 1) {
            throw new IllegalArgumentException("order.timeout.job-interval must be at least a millisecond");
        }
        if (jobBatch < 1 || jobBatch > 10_000) {
            throw new IllegalArgumentException("order.timeout.job-batch must be between 1 and 10000: " + jobBatch);
        }
    }

    /**
     * Returns how long an order may be pending. It is the TTL of the delay queue, and the minimum age of an order in
     * the second check.
     */
    Duration timeout() {
        return chosen(pendingMinutes, pending);
    }

    private static Duration chosen(@Nullable Integer minutes, @Nullable Duration span) {
        return span != null ? span : Duration.ofMinutes(minutes == null ? 15 : minutes);
    }
}
