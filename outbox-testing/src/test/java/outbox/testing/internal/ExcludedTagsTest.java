package outbox.testing.internal;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class ExcludedTagsTest {

    @Test
    void a_test_that_has_lost_its_tag_fails_and_says_which() {
        assertThatThrownBy(() -> ExcludedTags.check("mysql", "mariadb,mysql"))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("@Tag(\"mysql\")");
    }

    @Test
    void what_the_run_does_not_leave_out_may_start() {
        assertThatCode(() -> ExcludedTags.check("postgres", "mariadb,mysql")).doesNotThrowAnyException();
        assertThatCode(() -> ExcludedTags.check("mysql", null)).doesNotThrowAnyException();
    }
}
