package outbox.admin;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class ErrorFingerprintTest {

    private static void assertAlike(String one, String other) {
        assertThat(ErrorFingerprint.of(one)).isEqualTo(ErrorFingerprint.of(other));
    }

    @Test
    void what_differs_from_event_to_event_does_not_count() {
        assertAlike("order 17 is closed", "order 4711 is closed");
        assertAlike("no account 'Ada'", "no account 'Grace Hopper'");
        assertAlike("event 01JD3V7Q2M8Z9K4X5C6B7N8M9P failed", "event 7f3a1f0e-3a52-4f5e-9a44-0d3f2a8f5b11 failed");
        assertAlike("refused: \"a", "refused: \"a longer text that was cut"); // cut inside the quotation
        assertAlike("x".repeat(119) + " 17 at the end", "x".repeat(119) + " 18 at the");
    }

    @Test
    void different_texts_have_different_fingerprints() {
        assertThat(ErrorFingerprint.of("order 17 is closed"))
                .isNotEqualTo(ErrorFingerprint.of("order 17 is open"))
                .isNotEqualTo(ErrorFingerprint.of(null));
    }

    @Test
    void a_fingerprint_must_be_one() {
        assertThat(ErrorFingerprint.check(ErrorFingerprint.of("x"))).hasSize(12);
        assertThatThrownBy(() -> ErrorFingerprint.check("x' OR 1=1"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("12 digits");
    }
}
