package outbox.spring;

import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import outbox.EventListener;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.Protection;
import outbox.dispatch.Protection.Limit;
import outbox.dispatch.RetryRules;
import outbox.spring.OutboxListeners.Entry;

import java.time.Duration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

@NullUnmarked
class OutboxListenersTest {

    private static final EventListener NOTHING = event -> {};

    private final OutboxListeners listeners = new OutboxListeners();

    @Test
    void an_exact_pair_comes_before_patterns_and_longer_patterns_before_shorter() {
        Entry all = add("*", "*");
        Entry orders = add("Order", "order.*");
        Entry created = add("*", "order.created.*");
        Entry anywhere = add("*", "order.created.v1");
        Entry exact = add("Order", "order.created.v1");

        assertThat(find("Order", "order.created.v1")).isSameAs(exact.listener());
        assertThat(find("Cart", "order.created.v1")).isSameAs(anywhere.listener());
        assertThat(find("Order", "order.created.v2")).isSameAs(created.listener());
        assertThat(find("Order", "order.paid")).isSameAs(orders.listener());
        assertThat(find("Order", "order.paid")).isSameAs(orders.listener()); // from the cache
        assertThat(find("Cart", "order.paid")).isSameAs(all.listener());
        assertThat(listeners.routes()).isEmpty();
    }

    @Test
    void an_event_that_nothing_fits_has_no_listener() {
        add("Order", "order.*");

        assertThat(find("Cart", "order.paid")).isNull();
        assertThat(find("Order", "orde")).isNull();
    }

    @Test
    void pairs_can_be_listed_if_there_is_no_pattern() {
        add("Order", "paid");
        add("Cart", "paid");

        assertThat(listeners.routes())
                .hasValueSatisfying(routes -> assertThat(routes).containsExactlyInAnyOrder("Order:paid", "Cart:paid"));
    }

    @ParameterizedTest
    @CsvSource({
        "Order, paid, Order, paid",
        "*, order.*, *, order.*",
        "Order, order.*, Order, ord*er.",
        "*, a*, *, *b",
        "A*, paid, *B, paid",
        "*, a*c, *, ab*",
    })
    void listeners_for_the_same_events_are_refused_with_both_origins_and_the_way_out(
            String aggregate, String type, String otherAggregate, String otherType) {
        listeners.add(new Entry(aggregate, type, NOTHING, "Mail.send"));

        assertThatThrownBy(() -> listeners.add(new Entry(otherAggregate, otherType, NOTHING, "Audit.note")))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContainingAll("Mail.send", "Audit.note", "one method", "transport", "another type");
        assertThat(listeners.entries()).hasSize(1);
    }

    @ParameterizedTest
    @CsvSource({
        "Order, paid, Cart, paid",
        "*, a*, *, b*",
        "*, *a, *, *b",
        "*, ab*, *, a*",
        "*, a*c, *, b*c",
        "A*, paid, B*, paid",
        "*, ab, *, a*b",
    })
    void listeners_for_different_events_are_not_refused(
            String aggregate, String type, String otherAggregate, String otherType) {
        listeners.add(new Entry(aggregate, type, NOTHING, "one"));
        listeners.add(new Entry(otherAggregate, otherType, NOTHING, "other"));

        assertThat(listeners.entries()).hasSize(2);
    }

    @ParameterizedTest
    @CsvSource({
        "a*b*c, aXbYc, true",
        "a*b*c, abc, true",
        "a*b*c, abcbc, true",
        "a*b*c, abcb, false",
        "*, '', true",
        "a, ab, false",
        "ab, a, false",
        "*ab, aab, true",
        "a**, a, true",
        "*a*, bbb, false",
        "'.+', ab, false",
    })
    void a_star_stands_for_any_run_of_characters(String pattern, String name, boolean fits) {
        assertThat(new NamePattern(pattern).fits(name)).isEqualTo(fits);
    }

    @Test
    void a_name_that_no_event_can_have_is_refused_with_its_origin() {
        for (String name : new String[] {"", " ", "x".repeat(129)}) {
            assertThatThrownBy(() -> new Entry("Order", name, NOTHING, "Mail.send"))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContainingAll("Mail.send", "128");
        }
    }

    @Test
    void settings_of_a_pattern_need_a_name_to_go_by() {
        assertThatThrownBy(() -> new Entry("*", "order.*", NOTHING, "Mail.send", RetryRules.Rule.never(), null, null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("Mail.send", "name");
    }

    @Test
    void the_applications_rule_for_a_listener_that_has_one_of_its_own_is_refused() {
        listeners.add(new Entry("Order", "paid", NOTHING, "Mail.send", RetryRules.Rule.never(), null, null));

        assertThatThrownBy(() -> configure(
                        RetryRules.builder()
                                .listener("Order:paid", RetryRules.Rule.atMost(2))
                                .build(),
                        Protection.none()))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContainingAll("Mail.send", "retry rule", "Order:paid");
    }

    @Test
    void the_applications_limit_for_a_listener_that_has_one_of_its_own_is_refused() {
        listeners.add(new Entry("Order", "paid", NOTHING, "Mail.send", null, null, Limit.concurrency(1)));

        assertThatThrownBy(() -> configure(
                        RetryRules.none(),
                        Protection.builder()
                                .limitListener("Order:paid", Limit.concurrency(2))
                                .build()))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContainingAll("Mail.send", "limit", "Order:paid");
    }

    @Test
    void two_listeners_with_one_name_must_ask_for_the_same() {
        listeners.add(new Entry("Order", "paid", named("mail"), "Mail.send", null, Duration.ofSeconds(1), null));
        listeners.add(new Entry("Order", "sent", named("mail"), "Mail.sent", null, Duration.ofSeconds(2), null));

        assertThatThrownBy(() -> configure(RetryRules.none(), Protection.none()))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContainingAll("mail", "Mail.send", "Mail.sent", "time limit");
    }

    @Test
    void a_listener_that_comes_after_the_dispatcher_is_refused() {
        configure(RetryRules.none(), Protection.none());

        assertThatThrownBy(() -> add("Order", "paid"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("too late");
    }

    private void configure(RetryRules rules, Protection protection) {
        listeners.configure(OutboxDispatcher.builder(), rules, protection);
    }

    private Entry add(String aggregateType, String eventType) {
        Entry entry = new Entry(aggregateType, eventType, named(null), aggregateType + ":" + eventType);
        listeners.add(entry);
        return entry;
    }

    private EventListener find(String aggregateType, String eventType) {
        return listeners.listenerFor(aggregateType, eventType);
    }

    /** Returns a new object each time. */
    private static EventListener named(String name) {
        return new EventListener() {
            @Override
            public void onEvent(outbox.EventEnvelope event) {}

            @Override
            public String listenerName() {
                return name;
            }
        };
    }
}
