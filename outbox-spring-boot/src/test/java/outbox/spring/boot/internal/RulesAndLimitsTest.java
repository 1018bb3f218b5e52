package outbox.spring.boot.internal;

import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.test.util.ReflectionTestUtils;
import outbox.dispatch.Protection;
import outbox.dispatch.RetryPolicy;
import outbox.dispatch.RetryRules;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;

/** The effect of properties for single types, listeners and breakers. */
class RulesAndLimitsTest {

    @Test
    void a_rule_has_its_own_waits() {
        RetryRules.Builder rules = RetryRules.builder();
        RetrySettings.addRules(
                PropertyCheck.of("outbox.retry"),
                bound(
                                "outbox.retry.types[a.b].policy=linear",
                                "outbox.retry.types[a.b].first=1s",
                                "outbox.retry.types[a.b].longest=2s",
                                "outbox.retry.listeners.mailer.policy=series",
                                "outbox.retry.listeners.mailer.waits=3s,9s",
                                "outbox.retry.listeners.other.policy=exponential",
                                "outbox.retry.listeners.other.first=1s",
                                "outbox.retry.listeners.other.jitter=5s")
                        .retry(),
                rules);

        RetryPolicy ofType = (RetryPolicy) field(entry(rules, "byType", "a.b"), "policy");
        assertThat(List.of(ofType.computeDelayMs(1), ofType.computeDelayMs(7))).containsExactly(1000L, 2000L);
        RetryPolicy ofListener = (RetryPolicy) field(entry(rules, "byListener", "mailer"), "policy");
        assertThat(List.of(ofListener.computeDelayMs(1), ofListener.computeDelayMs(2)))
                .containsExactly(3000L, 9000L);
        RetryPolicy spread = (RetryPolicy) field(entry(rules, "byListener", "other"), "policy");
        assertThat(spread.computeDelayMs(1)).isBetween(1000L, 6000L);
    }

    @Test
    void a_limit_has_its_rate_time_and_burst() {
        Protection.Builder protection = protection(
                "outbox.protection.types[a.b].rate=5",
                "outbox.protection.types[a.b].per=2s",
                "outbox.protection.types[a.b].burst=7",
                "outbox.protection.types[a.b].concurrency=3");

        Object limit = entry(protection, "limitsByType", "a.b");
        assertThat(field(limit, "concurrency")).isEqualTo(3);
        assertThat(field(limit, "rate")).hasToString("Rate[events=5, per=PT2S, burst=7]");
    }

    @Test
    void a_breaker_has_its_own_settings() {
        Protection.Builder protection = protection(
                "outbox.protection.breakers.shop.listeners=mailer",
                "outbox.protection.breakers.shop.failure-rate=0.25",
                "outbox.protection.breakers.shop.minimum-calls=3",
                "outbox.protection.breakers.shop.window-calls=30",
                "outbox.protection.breakers.shop.window=4s",
                "outbox.protection.breakers.shop.open-on=java.io.IOException",
                "outbox.protection.breakers.shop.ignore=java.lang.IllegalStateException");

        Object breaker = ((List<?>) entry(protection, "breakersByListener", "mailer")).get(0);
        assertThat(field(breaker, "failureRate")).isEqualTo(0.25);
        assertThat(field(breaker, "minimumCalls")).isEqualTo(3);
        assertThat(field(breaker, "windowCalls")).isEqualTo(30);
        assertThat(field(breaker, "windowNanos")).isEqualTo(4_000_000_000L);
        assertThat(field(breaker, "down")).hasToString("[class java.io.IOException]");
        assertThat(field(breaker, "ignored")).hasToString("[class java.lang.IllegalStateException]");
    }

    private static Protection.Builder protection(String... properties) {
        Protection.Builder protection = Protection.builder();
        ProtectionSettings.addTo(
                protection,
                PropertyCheck.of("outbox.protection"),
                bound(properties).protection());
        return protection;
    }

    private static OutboxProperties bound(String... properties) {
        Map<String, String> source = Arrays.stream(properties)
                .map(property -> property.split("=", 2))
                .collect(Collectors.toMap(parts -> parts[0], parts -> parts[1]));
        return new Binder(new MapConfigurationPropertySource(source))
                .bind("outbox", OutboxProperties.class)
                .get();
    }

    private static Object entry(Object builder, String map, String key) {
        return Objects.requireNonNull(((Map<?, ?>) field(builder, map)).get(key), key);
    }

    private static Object field(Object object, String name) {
        return Objects.requireNonNull(ReflectionTestUtils.getField(object, name), name);
    }
}
