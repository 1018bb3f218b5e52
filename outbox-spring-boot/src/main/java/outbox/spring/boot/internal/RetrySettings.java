package outbox.spring.boot.internal;

import org.jspecify.annotations.Nullable;
import outbox.dispatch.RetryPolicy;
import outbox.dispatch.RetryRules;
import outbox.spring.boot.internal.OutboxProperties.Backoff;
import outbox.spring.boot.internal.OutboxProperties.Retry;
import outbox.spring.boot.internal.OutboxProperties.Rule;

import java.time.Duration;
import java.util.List;

/** Converts the properties of retries. */
final class RetrySettings {

    private static final Duration MILLISECOND = Duration.ofMillis(1);

    private RetrySettings() {}

    static RetryPolicy policy(PropertyCheck check, Retry retry) {
        return policy(check, retry.policy(), retry.first(), retry.longest(), retry.jitter(), retry.waits());
    }

    static int maxAttempts(PropertyCheck check, Retry retry, int otherwise) {
        Integer asked = retry.maxAttempts();
        return asked == null ? otherwise : check.between("max-attempts", asked, 1, Integer.MAX_VALUE);
    }

    static void addRules(PropertyCheck check, Retry retry, RetryRules.Builder rules) {
        retry.neverOn().forEach(type -> rules.exception(type, RetryRules.Rule.never()));
        retry.types().forEach((type, rule) -> rules.type(type, rule(check.entry("types", type), rule)));
        retry.listeners().forEach((name, rule) -> rules.listener(name, rule(check.entry("listeners", name), rule)));
    }

    private static RetryRules.Rule rule(PropertyCheck check, Rule rule) {
        Backoff backoff = rule.policy();
        Integer most = rule.maxAttempts();
        if (most != null) {
            check.between("max-attempts", most, 1, Integer.MAX_VALUE);
        }
        if (backoff == null) {
            if (most == null) {
                throw check.refuse("policy", null, "set, or max-attempts, or both");
            }
            return RetryRules.Rule.atMost(most);
        }
        RetryRules.Rule waiting = RetryRules.Rule.waiting(
                policy(check, backoff, rule.first(), rule.longest(), rule.jitter(), rule.waits()));
        return most == null ? waiting : waiting.andAtMost(most);
    }

    private static RetryPolicy policy(
            PropertyCheck check,
            Backoff backoff,
            Duration first,
            Duration longest,
            @Nullable Duration jitter,
            List<Duration> waits) {
        check.positive("first", first);
        check.positive("longest", longest);
        if (jitter != null) {
            check.positive("jitter", jitter);
        }
        return switch (backoff) {
            case FIXED -> RetryPolicy.fixed(first);
            case LINEAR -> RetryPolicy.linear(first, notShorter(check, longest, first));
            case EXPONENTIAL ->
                jitter == null
                        ? RetryPolicy.exponential(first, notShorter(check, longest, first))
                        : RetryPolicy.exponential(first, notShorter(check, longest, first), jitter);
            case SERIES -> RetryPolicy.series(series(check, waits));
        };
    }

    private static Duration notShorter(PropertyCheck check, Duration longest, Duration first) {
        return check.between("longest", longest, first, PropertyCheck.YEAR);
    }

    private static List<Duration> series(PropertyCheck check, List<Duration> waits) {
        if (waits.isEmpty()) {
            throw check.refuse("waits", null, "a list of durations, such as 1s,10s,1m, for the series policy");
        }
        waits.forEach(wait -> check.between("waits", wait, MILLISECOND, PropertyCheck.YEAR));
        return waits;
    }
}
