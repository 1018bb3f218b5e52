package outbox.http;

import org.junit.jupiter.api.Test;

import java.nio.charset.StandardCharsets;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;

class AnswerTextTest {

    private static String of(String answer, String payload) {
        return AnswerText.of(answer.getBytes(StandardCharsets.UTF_8), payload, List.of());
    }

    @Test
    void it_is_one_line_of_visible_characters() {
        assertThat(of(" a\r\n\tb\u0000\u001b[31mc\u202ed\u2028e ", "{}")).isEqualTo("a b\\u0000\\u001b[31mc\\u202ed e");
        assertThat(AnswerText.of(new byte[] {'a', (byte) 0xff, 'b'}, "{}", List.of()))
                .isEqualTo("a\ufffdb");
        assertThat(of("", "{}")).isEmpty();
    }

    @Test
    void it_has_no_credentials() {
        byte[] answer = "token eyJhbGciOi.x.y has expired: Bearer eyJhbGciOi.x.y".getBytes(StandardCharsets.UTF_8);

        assertThat(AnswerText.of(answer, "{}", List.of("Bearer eyJhbGciOi.x.y")))
                .isEqualTo("token [credentials] has expired: Bearer [credentials]");
    }

    @Test
    void it_is_cut_between_characters() {
        String text = of("x".repeat(499) + "😀" + "y", "{}");

        assertThat(text).isEqualTo("x".repeat(499) + "…");
        assertThat(of("x".repeat(500), "{}")).isEqualTo("x".repeat(500));
    }

    @Test
    void a_payload_it_quotes_is_left_out_as_it_is_escaped_or_reformatted() {
        String payload = "{\"name\":\"Ada Lovelace\",\"iban\":\"DE02120300000000202051\"}";

        assertThat(of("refused: " + payload + " (why)", payload)).isEqualTo("refused: {\"[payload]\"} (why)");
        assertThat(of("refused: " + payload.replace("\"", "\\\""), payload)).isEqualTo("refused: {\\\"[payload]\\\"}");
        assertThat(of("refused: " + payload.replace(",", ",\n    "), payload)).isEqualTo("refused: {\"[payload]\"}");
        assertThat(of("refused: iban DE02120300000000202051 is wrong", payload)).doesNotContain("DE0212");
    }

    @Test
    void a_quotation_at_the_cut_is_left_out_too() {
        String payload = "{\"iban\":\"DE02120300000000202051\"}";

        assertThat(of("-".repeat(480) + payload, payload)).doesNotContain("DE02");
    }

    @Test
    void what_has_nothing_of_the_payload_stays() {
        assertThat(of("field customer.name is missing", "{\"customer\":{}}"))
                .isEqualTo("field customer.name is missing");
    }

    @Test
    void a_large_payload_is_no_trouble() {
        String payload = "{\"a\":\"" + "0123456789".repeat(100_000) + "\"}";

        assertThat(of(payload, payload)).startsWith("{\"[payload]").doesNotContain("01234567890123");
    }
}
