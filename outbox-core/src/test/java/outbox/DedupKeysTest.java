package outbox;

import org.junit.jupiter.api.Test;

import java.time.Instant;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class DedupKeysTest {

    @Test
    void each_kind_of_key_has_its_form() {
        assertThat(DedupKeys.natural("enrollment", "7")).isEqualTo("enrollment:7");
        assertThat(DedupKeys.version("EnrollmentCreated", "7", 3)).isEqualTo("EnrollmentCreated:7:3");
        assertThat(DedupKeys.hour("Digest", "7", Instant.parse("2026-11-16T23:59:59.999Z")))
                .isEqualTo("Digest:7:2026111623");
    }

    @Test
    void only_the_id_may_have_a_colon_lest_two_things_have_one_key() {
        assertThat(DedupKeys.natural("a", "b:c")).isEqualTo("a:b:c");
        for (Runnable wrong : new Runnable[] {
            () -> DedupKeys.natural("a:b", "c"),
            () -> DedupKeys.version("a:b", "c", 1),
            () -> DedupKeys.version("a", "b", "1:2"),
            () -> DedupKeys.natural("", "c"),
            () -> DedupKeys.natural("a", "")
        }) {
            assertThatThrownBy(wrong::run).isInstanceOf(InvalidEventException.class);
        }
    }
}
