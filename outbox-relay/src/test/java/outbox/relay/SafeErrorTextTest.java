package outbox.relay;

import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;

import java.nio.charset.StandardCharsets;

import static org.assertj.core.api.Assertions.assertThat;

class SafeErrorTextTest {

    @Test
    void a_text_is_cut_on_a_character() {
        assertThat(SafeErrorText.cut("abc", 3)).isEqualTo("abc");
        assertThat(SafeErrorText.cut("ab€", 4)).isEqualTo("ab");
        assertThat(SafeErrorText.cut("ab€", 5)).isEqualTo("ab€");
        assertThat(SafeErrorText.cut("a🎉", 4)).isEqualTo("a");
        assertThat(SafeErrorText.cut("a🎉b", 5)).isEqualTo("a🎉");
        assertThat(SafeErrorText.cut("ü", 1)).isEmpty();
    }

    @Test
    void the_text_of_a_failure_has_its_causes_without_the_payload() {
        EventEnvelope event = EventEnvelope.ofJson("T", "{\"secret\":\"0123456789abcdef\"}");
        Exception failure = new IllegalStateException("no", new IllegalArgumentException(event.payloadJson()));

        String text = new SafeErrorText(2048).apply(event, failure);

        assertThat(text)
                .isEqualTo(
                        "java.lang.IllegalStateException: no; caused by java.lang.IllegalArgumentException: [payload]");
        assertThat(new SafeErrorText(10).apply(event, failure).getBytes(StandardCharsets.UTF_8))
                .hasSize(10);
    }
}
