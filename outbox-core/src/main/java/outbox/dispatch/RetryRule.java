package outbox.dispatch;

import org.jspecify.annotations.Nullable;

import java.util.Objects;

/** How failed attempts are followed up: after which wait, and how many there may be. What a rule leaves out is decided by the next rule that applies, see {@link RetryRules}. Immutable. */
public final class RetryRule {

    private final @Nullable RetryPolicy policy;
    private final @Nullable Integer maxAttempts;

    private RetryRule(@Nullable RetryPolicy policy, @Nullable Integer maxAttempts) {
        this.policy = policy;
        this.maxAttempts = maxAttempts;
    }

    /** Waits as the policy says. */
    public static RetryRule waiting(RetryPolicy policy) {
        return new RetryRule(Objects.requireNonNull(policy, "policy"), null);
    }

    /** DEAD after so many failed attempts; at least 1. */
    public static RetryRule atMost(int maxAttempts) {
        if (maxAttempts < 1) {
            throw new IllegalArgumentException("maxAttempts must be at least 1: " + maxAttempts);
        }
        return new RetryRule(null, maxAttempts);
    }

    /** DEAD at once. */
    public static RetryRule never() {
        return atMost(1);
    }

    /** The same rule, and DEAD after so many failed attempts. */
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
