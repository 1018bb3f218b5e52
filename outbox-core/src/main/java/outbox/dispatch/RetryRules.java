package outbox.dispatch;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;

/**
 * Selects the {@link Rule} for a failure. The most specific rule wins. The wait and the number of attempts
 * are selected independently:
 *
 * <ol>
 *   <li>the rule of the exception's class, or of its nearest superclass that has one,
 *   <li>the rule of the listener, by its name,
 *   <li>the rule of the event type,
 *   <li>{@code retryPolicy} and {@code maxAttempts} of the dispatcher.
 * </ol>
 *
 * <p>Only the class of the thrown exception counts, not the classes of its causes. A listener selects a rule by the
 * class of the exception that it throws. Immutable.
 */
public final class RetryRules {

    private static final RetryRules NONE = builder().build();

    private final Map<Class<?>, Rule> byException;
    private final Map<String, Rule> byListener;
    private final Map<String, Rule> byType;

    private RetryRules(Builder builder) {
        byException = Map.copyOf(builder.byException);
        byListener = Map.copyOf(builder.byListener);
        byType = Map.copyOf(builder.byType);
    }

    /** Returns no rules: the settings of the dispatcher apply to all failures. */
    public static RetryRules none() {
        return NONE;
    }

    public static Builder builder() {
        return new Builder();
    }

    /** Returns a builder that contains these rules. */
    public Builder toBuilder() {
        Builder builder = builder();
        builder.byException.putAll(byException);
        builder.byListener.putAll(byListener);
        builder.byType.putAll(byType);
        return builder;
    }

    boolean needListenerName() {
        return !byListener.isEmpty();
    }

    /** Returns the policy for a failure, or null if no rule has one. */
    @Nullable
    RetryPolicy policy(Throwable failure, @Nullable String listener, String eventType) {
        return first(failure, listener, eventType, Rule::policy);
    }

    /**
     * Returns the maximum number of attempts, or null if no rule has one. Without a failure, the rules for
     * exceptions are not considered.
     */
    @Nullable
    Integer maxAttempts(@Nullable Throwable failure, @Nullable String listener, String eventType) {
        return first(failure, listener, eventType, Rule::maxAttempts);
    }

    /** Whether the rule of the exception allows only one attempt. */
    boolean forbidRetry(Throwable failure) {
        Integer most = firstOf(byClass(failure), Rule::maxAttempts);
        return most != null && most == 1;
    }

    private <T> @Nullable T first(
            @Nullable Throwable failure,
            @Nullable String listener,
            String eventType,
            Function<Rule, @Nullable T> part) {
        List<Rule> rules = byClass(failure);
        if (listener != null) {
            add(rules, byListener.get(listener));
        }
        add(rules, byType.get(eventType));
        return firstOf(rules, part);
    }

    private static <T> @Nullable T firstOf(List<Rule> rules, Function<Rule, @Nullable T> part) {
        for (Rule rule : rules) {
            T value = part.apply(rule);
            if (value != null) {
                return value;
            }
        }
        return null;
    }

    private List<Rule> byClass(@Nullable Throwable failure) {
        List<Rule> rules = new ArrayList<>();
        if (failure != null && !byException.isEmpty()) {
            for (Class<?> type = failure.getClass(); type != null; type = type.getSuperclass()) {
                add(rules, byException.get(type));
            }
        }
        return rules;
    }

    private static void add(List<Rule> rules, @Nullable Rule rule) {
        if (rule != null) {
            rules.add(rule);
        }
    }

    /** Collects rules. Throws on a second rule for the same exception class, listener or type. */
    public static final class Builder {

        private final Map<Class<?>, Rule> byException = new HashMap<>();
        private final Map<String, Rule> byListener = new HashMap<>();
        private final Map<String, Rule> byType = new HashMap<>();

        private Builder() {}

        /** Adds a rule for exceptions of this class, and of subclasses that have no rule of their own. */
        public Builder exception(Class<? extends Throwable> type, Rule rule) {
            return put(byException, type, rule);
        }

        /** Adds a rule for events whose listener has this name, see {@link outbox.EventListener#listenerName}. */
        public Builder listener(String name, Rule rule) {
            return put(byListener, name, rule);
        }

        /** Adds a rule for events of this type, for all aggregate types. */
        public Builder type(String eventType, Rule rule) {
            return put(byType, eventType, rule);
        }

        private <K> Builder put(Map<K, Rule> rules, K key, Rule rule) {
            Objects.requireNonNull(rule, "rule");
            if (rules.putIfAbsent(Objects.requireNonNull(key, "key"), rule) != null) {
                throw new IllegalArgumentException("There is a retry rule for " + key + " already");
            }
            return this;
        }

        public RetryRules build() {
            return new RetryRules(this);
        }
    }

    /**
     * How failed attempts are retried: the wait before the next attempt, and the maximum number of attempts. If a rule
     * omits one of them, the next rule that applies decides it, see {@link RetryRules}. Immutable.
     */
    public static final class Rule {

        private final @Nullable RetryPolicy policy;
        private final @Nullable Integer maxAttempts;

        private Rule(@Nullable RetryPolicy policy, @Nullable Integer maxAttempts) {
            this.policy = policy;
            this.maxAttempts = maxAttempts;
        }

        /** Waits as the policy decides. */
        public static Rule waiting(RetryPolicy policy) {
            return new Rule(Objects.requireNonNull(policy, "policy"), null);
        }

        /** The event is DEAD after this number of failed attempts. At least 1. */
        public static Rule atMost(int maxAttempts) {
            if (maxAttempts < 1) {
                throw new IllegalArgumentException("maxAttempts must be at least 1: " + maxAttempts);
            }
            return new Rule(null, maxAttempts);
        }

        /** The event is DEAD after the first failed attempt. */
        public static Rule never() {
            return atMost(1);
        }

        /** Returns the same rule with a maximum number of failed attempts, after which the event is DEAD. */
        public Rule andAtMost(int attempts) {
            return new Rule(policy, atMost(attempts).maxAttempts);
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
}
