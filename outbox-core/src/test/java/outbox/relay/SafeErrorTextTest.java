package outbox.relay;

import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;

import java.nio.charset.StandardCharsets;
import java.util.List;

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
    void the_payload_is_hidden_as_a_whole_and_in_parts() {
        String payload = "{\"iban\": \"DE02 1203 0000 0000 2020 51\"}";

        assertThat(SafeErrorText.hide("refused: " + payload + "!", payload)).isEqualTo("refused: [payload]!");
        assertThat(SafeErrorText.hide(payload.substring(4, 24) + " is wrong", payload))
                .isEqualTo("[payload] is wrong");
        assertThat(SafeErrorText.hide("HTTP 500 from the receiver", payload)).isEqualTo("HTTP 500 from the receiver");
    }

    @Test
    void the_payload_is_hidden_however_it_is_laid_out_and_escaped() {
        String stored = "{\"iban\": \"DE02 1203 0000 0000 2020 51\", \"tags\": [1, 2], \"n\": {\"a\": true}}";
        String compact = stored.replace(": ", ":").replace(", ", ",");
        String pretty = stored.replace("{", "{\n  ").replace(", ", ",\n  ");
        String escaped = compact.replace("\"", "\\\"");

        for (String quoted : List.of(compact, pretty, escaped, '"' + escaped + '"', stored.replace(" ", ""))) {
            assertThat(SafeErrorText.hide("refused: " + quoted + "!", stored)).isEqualTo("refused: [payload]!");
        }
        assertThat(SafeErrorText.hide("refused: " + stored, pretty)).isEqualTo("refused: [payload]");
        assertThat(SafeErrorText.hide("a:1 and {\n\"a\":\n1}", "{\"a\": 1}")).isEqualTo("a:1 and [payload]");
    }

    @Test
    void a_payload_of_nothing_but_what_is_not_compared_hides_nothing() {
        assertThat(SafeErrorText.hide("got \"\"", "\"\"")).isEqualTo("got \"\"");
        assertThat(SafeErrorText.hide("", "{\"a\": 1}")).isEmpty();
    }

    @Test
    void a_short_payload_is_hidden_and_a_trivial_one_is_not() {
        assertThat(SafeErrorText.hide("got {\"a\":1}", "{\"a\":1}")).isEqualTo("got [payload]");
        assertThat(SafeErrorText.hide("got {}", "{}")).isEqualTo("got {}");
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
