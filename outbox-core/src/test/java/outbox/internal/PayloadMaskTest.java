package outbox.internal;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Random;

import static org.assertj.core.api.Assertions.assertThat;

class PayloadMaskTest {

    @Test
    void the_payload_is_hidden_as_a_whole_and_in_parts() {
        String payload = "{\"iban\": \"DE02 1203 0000 0000 2020 51\"}";

        assertThat(hide("refused: " + payload + "!", payload)).isEqualTo("refused: [payload]!");
        assertThat(hide(payload.substring(4, 24) + " is wrong", payload)).isEqualTo("[payload] is wrong");
        assertThat(hide("HTTP 500 from the receiver", payload)).isEqualTo("HTTP 500 from the receiver");
    }

    @Test
    void the_payload_is_hidden_however_it_is_laid_out_and_escaped() {
        String stored = "{\"iban\": \"DE02 1203 0000 0000 2020 51\", \"tags\": [1, 2], \"n\": {\"a\": true}}";
        String compact = stored.replace(": ", ":").replace(", ", ",");
        String pretty = stored.replace("{", "{\n  ").replace(", ", ",\n  ");
        String escaped = compact.replace("\"", "\\\"");

        for (String quoted : List.of(compact, pretty, escaped, '"' + escaped + '"', stored.replace(" ", ""))) {
            assertThat(hide("refused: " + quoted + "!", stored)).isEqualTo("refused: [payload]!");
        }
        assertThat(hide("refused: " + stored, pretty)).isEqualTo("refused: [payload]");
        assertThat(hide("a:1 and {\n\"a\":\n1}", "{\"a\": 1}")).isEqualTo("a:1 and [payload]");
    }

    @Test
    void a_payload_of_nothing_but_what_is_not_compared_hides_nothing() {
        assertThat(hide("got \"\"", "\"\"")).isEqualTo("got \"\"");
        assertThat(hide("", "{\"a\": 1}")).isEmpty();
    }

    @Test
    void a_short_payload_is_hidden_and_a_trivial_one_is_not() {
        assertThat(hide("got {\"a\":1}", "{\"a\":1}")).isEqualTo("got [payload]");
        assertThat(hide("got {}", "{}")).isEqualTo("got {}");
    }

    @Test
    void a_payload_of_megabytes_that_repeats_itself_is_read_once() {
        String payload = "a".repeat(8_000_000) + "0123456789secret";

        // A naive search would need 32 billion comparisons.
        assertThat(hide("a".repeat(4000) + "-" + "9secret", payload)).isEqualTo("[payload]-9secret");
    }

    @Test
    void whatever_part_of_a_random_payload_is_quoted_no_run_of_it_stays() {
        Random random = new Random(20);
        for (int round = 0; round < 500; round++) {
            String payload = letters(random, 20 + random.nextInt(200));
            int from = random.nextInt(payload.length() - 12);
            String part = payload.substring(from, from + 12 + random.nextInt(payload.length() - from - 11));
            String text = "before " + part + " after";

            String safe = hide(text, payload);

            assertThat(safe).as("payload %s, text %s", payload, text).isEqualTo("before [payload] after");
        }
    }

    private static String hide(String text, String payload) {
        return PayloadMask.hide(text, payload, List.of());
    }

    /** Returns a text of few different letters, so that runs repeat. The surrounding words contain none of them. */
    private static String letters(Random random, int length) {
        return random.ints(length, 'x', 'z' + 1)
                .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                .toString();
    }
}
