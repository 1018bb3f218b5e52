package outbox.dispatch;

import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.GiveUpException;
import outbox.RetryLaterException;
import outbox.dispatch.QueuedEvent.Source;
import outbox.model.EventStatus;
import outbox.registry.DefaultListenerRegistry;
import outbox.spi.Mark;

import java.io.IOException;
import java.time.Duration;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;

class OutcomePolicyTest {

    private final DefaultListenerRegistry registry = new DefaultListenerRegistry();

    @Test
    void a_listener_may_choose_the_time_of_the_next_try_without_counting_this_one() {
        Mark mark = policy(RetryRules.none(), 1).outcome(tried(0), later(Duration.ofMinutes(3), false), null);

        assertThat(mark.status()).isEqualTo(EventStatus.RETRY);
        assertThat(mark.countsAttempt()).isFalse();
        assertThat(mark.retryAfter()).isEqualTo(Duration.ofMinutes(3));
    }

    @Test
    void what_is_not_counted_waits_long_enough_not_to_spin_and_a_year_at_most() {
        OutcomePolicy policy = policy(RetryRules.none(), 10);

        assertThat(policy.outcome(tried(0), later(Duration.ZERO, false), null).retryAfter())
                .isEqualTo(Duration.ofSeconds(1));
        assertThat(policy.outcome(tried(0), later(Duration.ofSeconds(Long.MAX_VALUE), false), null)
                        .retryAfter())
                .isEqualTo(Duration.ofDays(365));
        assertThat(policy.outcome(tried(0), new IOException(), Duration.ofMillis(1))
                        .retryAfter())
                .isEqualTo(Duration.ofSeconds(1));
    }

    @Test
    void a_counted_wait_is_a_failed_attempt_and_may_be_the_last() {
        OutcomePolicy policy = policy(RetryRules.none(), 2);

        Mark first = policy.outcome(tried(0), later(Duration.ofMillis(7), true), null);
        Mark last = policy.outcome(tried(1), later(Duration.ofMillis(7), true), null);

        assertThat(first.countsAttempt()).isTrue();
        assertThat(first.retryAfter()).isEqualTo(Duration.ofMillis(7));
        assertThat(last.status()).isEqualTo(EventStatus.DEAD);
    }

    @Test
    void a_listener_may_give_up() {
        Mark mark = policy(RetryRules.none(), 10).outcome(tried(0), new GiveUpException("no such account"), null);

        assertThat(mark.status()).isEqualTo(EventStatus.DEAD);
        assertThat(mark.error()).contains("no such account");
    }

    @Test
    void a_fault_of_the_destination_costs_the_event_no_attempt_not_even_the_last() {
        Mark mark = policy(RetryRules.none(), 3).outcome(tried(2), new IOException("down"), Duration.ofSeconds(5));

        assertThat(mark.status()).isEqualTo(EventStatus.RETRY);
        assertThat(mark.countsAttempt()).isFalse();
        assertThat(mark.retryAfter()).isEqualTo(Duration.ofSeconds(5));
    }

    @Test
    void an_exception_that_is_never_retried_is_the_end_whoever_is_to_blame() {
        RetryRules rules = RetryRules.builder()
                .exception(IOException.class, RetryRules.Rule.never())
                .build();

        Mark mark = policy(rules, 10).outcome(tried(0), new IOException("down"), Duration.ofSeconds(5));

        assertThat(mark.status()).isEqualTo(EventStatus.DEAD);
        assertThat(mark.countsAttempt()).isTrue();
    }

    @Test
    void rules_know_a_listener_by_its_own_name_or_by_its_route() {
        registry.register("Order", "Paid", new Named("crm"));
        registry.register("Order", "Sent", event -> {});
        RetryRules rules = RetryRules.builder()
                .listener("crm", RetryRules.Rule.atMost(2))
                .listener("Order:Sent", RetryRules.Rule.atMost(3))
                .build();
        OutcomePolicy policy = policy(rules, 10);

        assertThat(List.of(dies(policy, "Paid", 1), dies(policy, "Paid", 2))).containsExactly(false, true);
        assertThat(List.of(dies(policy, "Sent", 2), dies(policy, "Sent", 3))).containsExactly(false, true);
    }

    @Test
    void a_rule_that_fails_loses_nothing() {
        RetryRules rules = RetryRules.builder()
                .type("T", RetryRules.Rule.waiting(attempts -> {
                    throw new NoClassDefFoundError("of a policy");
                }))
                .build();

        Mark mark = policy(rules, 10).outcome(tried(0), new IOException("down"), null);

        assertThat(mark.status()).isEqualTo(EventStatus.RETRY);
        assertThat(mark.retryAfter()).isEqualTo(Duration.ofMinutes(1));
    }

    private record Named(String listenerName) implements EventListener {
        @Override
        public void onEvent(EventEnvelope event) {}
    }

    private OutcomePolicy policy(RetryRules rules, int maxAttempts) {
        return new OutcomePolicy(attempts -> 0, maxAttempts, rules, registry);
    }

    private static boolean dies(OutcomePolicy policy, String eventType, int attempt) {
        EventEnvelope event = EventEnvelope.builder(eventType)
                .aggregateType("Order")
                .payloadJson("{}")
                .build();
        Delivery delivery = new Delivery(new QueuedEvent(event, Source.COLD, attempt - 1), null, false);
        return policy.outcome(delivery, new IOException("down"), null).status() == EventStatus.DEAD;
    }

    private static Delivery tried(int attempts) {
        return new Delivery(new QueuedEvent(EventEnvelope.ofJson("T", "{}"), Source.COLD, attempts), null, false);
    }

    private static RetryLaterException later(Duration delay, boolean counted) {
        return new RetryLaterException(delay, "busy", counted, null);
    }
}
