package outbox.registry;

import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.Test;
import outbox.AggregateType;
import outbox.EventListener;
import outbox.EventType;
import outbox.StringAggregateType;
import outbox.StringEventType;

import java.util.Set;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

@NullUnmarked
class DefaultListenerRegistryTest {

    private static final EventType PLACED = StringEventType.of("Placed");
    private static final AggregateType ORDER = StringAggregateType.of("Order");

    private final DefaultListenerRegistry registry = new DefaultListenerRegistry();
    private final EventListener one = event -> {};
    private final EventListener other = event -> {
        throw new IllegalStateException();
    };

    @Test
    void a_listener_is_found_by_aggregate_and_event_type() {
        registry.register("Order", "Placed", one).register(ORDER, StringEventType.of("Paid"), other);

        assertThat(registry.listenerFor("Order", "Placed")).isSameAs(one);
        assertThat(registry.listenerFor("Order", "Paid")).isSameAs(other);
    }

    @Test
    void the_event_type_may_be_a_string_where_the_aggregate_type_is_not() {
        registry.register(ORDER, "Placed", one);

        assertThat(registry.listenerFor("Order", "Placed")).isSameAs(one);
        assertThatIllegalStateException().isThrownBy(() -> registry.register(ORDER, PLACED, other));
    }

    @Test
    void without_an_aggregate_type_a_listener_is_for_global_events_only() {
        registry.register("Placed", one).register(StringEventType.of("Paid"), other);

        assertThat(registry.listenerFor("__GLOBAL__", "Placed")).isSameAs(one);
        assertThat(registry.listenerFor("__GLOBAL__", "Paid")).isSameAs(other);
        assertThat(registry.listenerFor("Order", "Placed")).isNull();
    }

    @Test
    void the_pairs_that_have_a_listener_can_be_listed() {
        assertThat(registry.routes()).contains(Set.of());

        registry.register("Order", "Placed", one).register("Paid", other);

        assertThat(registry.routes()).contains(Set.of("Order:Placed", "__GLOBAL__:Paid"));
    }

    @Test
    void nothing_is_found_where_nothing_is_registered() {
        assertThat(registry.listenerFor("Order", "Placed")).isNull();
    }

    @Test
    void a_second_listener_for_a_pair_is_refused_and_the_first_stays() {
        registry.register("Order", "Placed", one);

        assertThatIllegalStateException()
                .isThrownBy(() -> registry.register(ORDER, PLACED, other))
                .withMessageContaining("Order:Placed");
        assertThat(registry.listenerFor("Order", "Placed")).isSameAs(one);
    }

    @Test
    void names_with_a_colon_do_not_run_into_each_other() {
        registry.register("a:b", "c", one).register("a", "b:c", other);

        assertThat(registry.listenerFor("a:b", "c")).isSameAs(one);
        assertThat(registry.listenerFor("a", "b:c")).isSameAs(other);
    }

    @Test
    void null_is_refused() {
        assertThatNullPointerException().isThrownBy(() -> registry.register("Order", "Placed", null));
        assertThatNullPointerException().isThrownBy(() -> registry.register((String) null, "Placed", one));
        assertThatNullPointerException().isThrownBy(() -> registry.register("Order", null, one));
    }
}
