package outbox.dispatch;

import org.junit.jupiter.api.Test;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class RetryRulesTest {

    private static final RetryPolicy ONE = attempts -> 1;
    private static final RetryPolicy TWO = attempts -> 2;
    private static final RetryPolicy THREE = attempts -> 3;

    @Test
    void the_exception_comes_before_the_listener_and_the_listener_before_the_type() {
        RetryRules rules = RetryRules.builder()
                .exception(IOException.class, RetryRules.Rule.waiting(ONE))
                .listener("crm", RetryRules.Rule.waiting(TWO))
                .type("T", RetryRules.Rule.waiting(THREE))
                .build();

        assertThat(rules.policy(new IOException(), "crm", "T")).isSameAs(ONE);
        assertThat(rules.policy(new RuntimeException(), "crm", "T")).isSameAs(TWO);
        assertThat(rules.policy(new RuntimeException(), "other", "T")).isSameAs(THREE);
        assertThat(rules.policy(new RuntimeException(), "other", "U")).isNull();
    }

    @Test
    void a_copy_has_the_same_rules_and_takes_more() {
        RetryRules rules = RetryRules.builder()
                .exception(IOException.class, RetryRules.Rule.waiting(ONE))
                .listener("crm", RetryRules.Rule.waiting(TWO))
                .type("T", RetryRules.Rule.waiting(THREE))
                .build();

        RetryRules more =
                rules.toBuilder().listener("erp", RetryRules.Rule.waiting(ONE)).build();

        assertThat(more.policy(new IOException(), "crm", "T")).isSameAs(ONE);
        assertThat(more.policy(new RuntimeException(), "crm", "T")).isSameAs(TWO);
        assertThat(more.policy(new RuntimeException(), "other", "T")).isSameAs(THREE);
        assertThat(more.policy(new RuntimeException(), "erp", "U")).isSameAs(ONE);
        assertThat(rules.policy(new RuntimeException(), "erp", "U")).isNull();
        assertThatThrownBy(() -> rules.toBuilder().listener("crm", RetryRules.Rule.never()))
                .hasMessageContaining("crm");
    }

    @Test
    void the_nearest_class_of_an_exception_decides() {
        RetryRules rules = RetryRules.builder()
                .exception(Exception.class, RetryRules.Rule.never())
                .exception(IOException.class, RetryRules.Rule.waiting(ONE).andAtMost(5))
                .build();

        assertThat(rules.forbidRetry(new IllegalStateException())).isTrue();
        assertThat(rules.forbidRetry(new FileNotFoundException())).isFalse();
        assertThat(rules.maxAttempts(new FileNotFoundException(), null, "T")).isEqualTo(5);
        assertThat(rules.forbidRetry(new OutOfMemoryError())).isFalse();
    }

    @Test
    void the_cause_of_an_exception_does_not_count() {
        RetryRules rules = RetryRules.builder()
                .exception(IOException.class, RetryRules.Rule.never())
                .build();

        assertThat(rules.forbidRetry(new UncheckedIOException(new IOException())))
                .isFalse();
    }

    @Test
    void what_one_rule_leaves_out_the_next_one_says() {
        RetryRules rules = RetryRules.builder()
                .exception(IOException.class, RetryRules.Rule.waiting(ONE))
                .listener("crm", RetryRules.Rule.atMost(7))
                .type("T", RetryRules.Rule.waiting(THREE).andAtMost(3))
                .build();

        assertThat(rules.policy(new IOException(), "crm", "T")).isSameAs(ONE);
        assertThat(rules.maxAttempts(new IOException(), "crm", "T")).isEqualTo(7);
        assertThat(rules.policy(new Error(), "crm", "T")).isSameAs(THREE);
        assertThat(rules.maxAttempts(null, null, "T")).isEqualTo(3);
    }

    @Test
    void a_second_rule_for_the_same_thing_is_refused() {
        RetryRules.Builder builder = RetryRules.builder().type("T", RetryRules.Rule.never());

        assertThatThrownBy(() -> builder.type("T", RetryRules.Rule.atMost(2)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("T already");
        assertThatThrownBy(() -> RetryRules.Rule.atMost(0)).hasMessageContaining("maxAttempts must be at least 1: 0");
    }

    @Test
    void a_series_repeats_its_last_wait() {
        RetryPolicy series = RetryPolicy.series(Duration.ofSeconds(5), Duration.ofSeconds(30), Duration.ofMinutes(2));

        assertThat(IntStream.of(0, 1, 2, 3, 4, Integer.MAX_VALUE).mapToLong(series::computeDelayMs))
                .containsExactly(5_000L, 5_000L, 30_000L, 120_000L, 120_000L, 120_000L);
    }

    @Test
    void a_linear_wait_grows_to_its_longest_and_never_overflows() {
        RetryPolicy linear = RetryPolicy.linear(Duration.ofSeconds(2), Duration.ofSeconds(5));
        RetryPolicy endless =
                RetryPolicy.linear(Duration.ofMillis(Long.MAX_VALUE / 2), Duration.ofSeconds(Long.MAX_VALUE));

        assertThat(IntStream.of(-1, 1, 2, 3, Integer.MAX_VALUE).mapToLong(linear::computeDelayMs))
                .containsExactly(2_000L, 2_000L, 4_000L, 5_000L, 5_000L);
        assertThat(endless.computeDelayMs(Integer.MAX_VALUE)).isEqualTo(Long.MAX_VALUE);
    }

    @Test
    void a_fixed_wait_is_always_the_same() {
        RetryPolicy fixed = RetryPolicy.fixed(Duration.ofSeconds(3));

        assertThat(fixed.computeDelayMs(1)).isEqualTo(3_000);
        assertThat(fixed.computeDelayMs(Integer.MAX_VALUE)).isEqualTo(3_000);
    }

    @Test
    void a_wait_of_nothing_is_refused() {
        assertThatThrownBy(() -> RetryPolicy.fixed(Duration.ZERO)).hasMessageContaining("wait must be at least");
        assertThatThrownBy(() -> RetryPolicy.series(Duration.ofSeconds(1), Duration.ofSeconds(-1)))
                .hasMessageContaining("wait must be at least");
        assertThatThrownBy(() -> RetryPolicy.linear(Duration.ofSeconds(2), Duration.ofSeconds(1)))
                .hasMessageContaining("longest must not be shorter");
    }
}
