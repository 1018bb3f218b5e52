package outbox.dispatch;

import org.jspecify.annotations.Nullable;

import java.util.Objects;

/**
 * How failed attempts are retried: the wait before the next attempt, and the maximum number of attempts. If a rule
 * omits one of them, the next rule that applies decides it, see {@link RetryRules}. Immutable.
 */
public final class RetryRule {

    private final @Nullable RetryPolicy policy;
    private final @Nullable Integer maxAttempts;

    private RetryRule(@Nullable RetryPolicy policy, @Nullable Integer maxAttempts) {
        this.policy = policy;
        this.maxAttempts = maxAttempts;
    }

    /** Waits as the policy decides. */
    public static RetryRule waiting(RetryPolicy policy) {
        return new RetryRule(Objects.requireNonNull(policy, "policy"), null);
    }

    /** The event is DEAD after this number of failed attempts. At least 1. */
    public static RetryRule atMost(int maxAttempts) {
        if (maxAttempts < 1) {
            throw new IllegalArgumentException("maxAttempts must be at least 1: " + maxAttempts);
        }
        return new RetryRule(null, maxAttempts);
    }

    /** The event is DEAD after the first failed attempt. */
    public static RetryRule never() {
        return atMost(1);
    }

    /** Returns the same rule with a maximum number of failed attempts, after which the event is DEAD. */
    public RetryRule andAtMost(int attempts) {
        return new RetryRule(policy, atMost(attempts).maxAttempts);
    }

    @Nullable
    RetryPolicy policy() {
        return policy;
    }

    @Nullable
    Integer maxAttempts() {
        return maxAttempts;
    }
}
