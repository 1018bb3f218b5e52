package outbox;

import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

@NullUnmarked
class TypeNamesTest {

    private enum Users implements EventType, AggregateType {
        USER_CREATED
    }

    @Test
    void an_enum_constant_is_an_event_type_and_an_aggregate_type() {
        EventType type = Users.USER_CREATED;
        AggregateType aggregate = Users.USER_CREATED;

        assertThat(type.name()).isEqualTo("USER_CREATED");
        assertThat(aggregate.name()).isEqualTo("USER_CREATED");
    }

    @Test
    void a_name_known_only_at_run_time_makes_a_type() {
        assertThat(StringEventType.of("Dynamic").name()).isEqualTo("Dynamic");
        assertThat(StringAggregateType.of("Dynamic").name()).isEqualTo("Dynamic");
    }

    @Test
    void types_of_the_same_name_are_equal() {
        assertThat(StringEventType.of("a")).isEqualTo(StringEventType.of("a")).hasToString("a");
        assertThat(StringAggregateType.of("a"))
                .isEqualTo(StringAggregateType.of("a"))
                .hasToString("a");
        assertThat(StringEventType.of("a")).isNotEqualTo(StringEventType.of("b"));
    }

    @Test
    void a_type_without_name_is_refused() {
        assertThatNullPointerException().isThrownBy(() -> StringEventType.of(null));
        assertThatNullPointerException().isThrownBy(() -> StringAggregateType.of(null));
        assertThatIllegalArgumentException().isThrownBy(() -> StringEventType.of(""));
        assertThatIllegalArgumentException().isThrownBy(() -> StringAggregateType.of(""));
    }

    @Test
    void the_global_aggregate_has_the_name_of_the_specification() {
        assertThat(AggregateType.GLOBAL.name()).isEqualTo("__GLOBAL__");
    }
}
