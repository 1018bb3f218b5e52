package outbox.spring.boot.internal;

import outbox.dispatch.CircuitBreaker;
import outbox.dispatch.Protection;
import outbox.dispatch.Protection.Limit;
import outbox.spring.boot.internal.OutboxProperties.Bound;
import outbox.spring.boot.internal.OutboxProperties.Breaker;
import outbox.spring.boot.internal.OutboxProperties.Protect;

import java.time.Duration;
import java.util.Map;

/** Converts the properties of circuit breakers and limits. */
final class ProtectionSettings {

    private static final Duration MILLISECOND = Duration.ofMillis(1);
    private static final Duration DAY = Duration.ofDays(1);
    private static final int MAX_CALLS = 10_000;

    private ProtectionSettings() {}

    static void addTo(Protection.Builder protection, PropertyCheck check, Protect settings) {
        settings.types().forEach((type, bound) -> protection.limitType(type, limit(check.entry("types", type), bound)));
        settings.listeners()
                .forEach((name, bound) -> protection.limitListener(name, limit(check.entry("listeners", name), bound)));
        settings.tenants()
                .forEach((name, bound) -> protection.limitTenant(name, limit(check.entry("tenants", name), bound)));
        Bound eachTenant = settings.eachTenant();
        if (eachTenant != null) {
            protection.limitEachTenant(limit(check.at("each-tenant"), eachTenant));
        }
        for (Map.Entry<String, Breaker> entry : settings.breakers().entrySet()) {
            Breaker breaker = entry.getValue();
            PropertyCheck its = check.entry("breakers", entry.getKey());
            if (breaker.types().isEmpty() && breaker.listeners().isEmpty()) {
                throw its.refuse("types", null, "set, or listeners, or both: a breaker guards something");
            }
            CircuitBreaker made = breaker(its, entry.getKey(), breaker);
            breaker.types().forEach(type -> protection.breakerForType(type, made));
            breaker.listeners().forEach(listener -> protection.breakerForListener(listener, made));
        }
    }

    private static Limit limit(PropertyCheck check, Bound bound) {
        Integer concurrency = bound.concurrency();
        Integer rate = bound.rate();
        if (concurrency != null) {
            check.between("concurrency", concurrency, 1, Integer.MAX_VALUE);
        }
        if (rate == null) {
            if (concurrency == null) {
                throw check.refuse("concurrency", null, "set, or rate, or both");
            }
            return Limit.concurrency(concurrency);
        }
        Integer burst = bound.burst();
        Limit limit = Limit.rate(
                check.between("rate", rate, 1, Integer.MAX_VALUE),
                check.between("per", bound.per(), MILLISECOND, DAY),
                burst == null ? rate : check.between("burst", burst, 1, 50_000));
        return concurrency == null ? limit : limit.andConcurrency(concurrency);
    }

    private static CircuitBreaker breaker(PropertyCheck check, String name, Breaker settings) {
        double failureRate = settings.failureRate();
        if (!(failureRate > 0 && failureRate <= 1)) {
            throw check.refuse("failure-rate", failureRate, "above 0 and at most 1");
        }
        CircuitBreaker.Builder breaker = CircuitBreaker.named(name)
                .failureRate(failureRate)
                .minimumCalls(check.between("minimum-calls", settings.minimumCalls(), 1, MAX_CALLS))
                .windowCalls(check.between("window-calls", settings.windowCalls(), 1, MAX_CALLS))
                .window(check.between("window", settings.window(), MILLISECOND, DAY))
                .wait(check.between("open-for", settings.openFor(), MILLISECOND, DAY));
        settings.openOn().forEach(breaker::openOn);
        settings.ignore().forEach(breaker::ignore);
        return breaker.build();
    }
}
