package outbox.dispatch;

import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;

/**
 * Selects the {@link RetryRule} for a failure. The most specific rule wins. The wait and the number of attempts
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

    private final Map<Class<?>, RetryRule> byException;
    private final Map<String, RetryRule> byListener;
    private final Map<String, RetryRule> byType;

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
        return first(failure, listener, eventType, RetryRule::policy);
    }

    /**
     * Returns the maximum number of attempts, or null if no rule has one. Without a failure, the rules for
     * exceptions are not considered.
     */
    @Nullable
    Integer maxAttempts(@Nullable Throwable failure, @Nullable String listener, String eventType) {
        return first(failure, listener, eventType, RetryRule::maxAttempts);
    }

    /** Whether the rule of the exception allows only one attempt. */
    boolean forbidRetry(Throwable failure) {
        Integer most = firstOf(byClass(failure), RetryRule::maxAttempts);
        return most != null && most == 1;
    }

    private <T> @Nullable T first(
            @Nullable Throwable failure,
            @Nullable String listener,
            String eventType,
            Function<RetryRule, @Nullable T> part) {
        List<RetryRule> rules = byClass(failure);
        if (listener != null) {
            add(rules, byListener.get(listener));
        }
        add(rules, byType.get(eventType));
        return firstOf(rules, part);
    }

    private static <T> @Nullable T firstOf(List<RetryRule> rules, Function<RetryRule, @Nullable T> part) {
        for (RetryRule rule : rules) {
            T value = part.apply(rule);
            if (value != null) {
                return value;
            }
        }
        return null;
    }

    private List<RetryRule> byClass(@Nullable Throwable failure) {
        List<RetryRule> rules = new ArrayList<>();
        if (failure != null && !byException.isEmpty()) {
            for (Class<?> type = failure.getClass(); type != null; type = type.getSuperclass()) {
                add(rules, byException.get(type));
            }
        }
        return rules;
    }

    private static void add(List<RetryRule> rules, @Nullable RetryRule rule) {
        if (rule != null) {
            rules.add(rule);
        }
    }

    /** Collects rules. Throws on a second rule for the same exception class, listener or type. */
    public static final class Builder {

        private final Map<Class<?>, RetryRule> byException = new HashMap<>();
        private final Map<String, RetryRule> byListener = new HashMap<>();
        private final Map<String, RetryRule> byType = new HashMap<>();

        private Builder() {}

        /** Adds a rule for exceptions of this class, and of subclasses that have no rule of their own. */
        public Builder exception(Class<? extends Throwable> type, RetryRule rule) {
            return put(byException, type, rule);
        }

        /** Adds a rule for events whose listener has this name, see {@link outbox.EventListener#listenerName}. */
        public Builder listener(String name, RetryRule rule) {
            return put(byListener, name, rule);
        }

        /** Adds a rule for events of this type, for all aggregate types. */
        public Builder type(String eventType, RetryRule rule) {
            return put(byType, eventType, rule);
        }

        private <K> Builder put(Map<K, RetryRule> rules, K key, RetryRule rule) {
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
}
