package outbox.internal.text;

import org.junit.jupiter.api.Test;
import outbox.util.JsonCodec;

import java.util.Map;
import java.util.Objects;

import static org.assertj.core.api.Assertions.assertThat;

class PrintableTextTest {

    private static final String HOSTILE =
            "a\r\n\t\u0000\u001b[2J\u007f\u0085\u009b\u00ad\u200e\u2028\u2029\u202e\u2066\ufeff"
                    + "\uD83D" // an unpaired surrogate
                    + "z\uDB40\uDC01"; // a tag character: a format character outside the 16-bit range

    @Test
    void what_cannot_be_printed_becomes_a_visible_escape() {
        assertThat(PrintableText.of(HOSTILE))
                .isEqualTo("a\\r\\n\\t\\u0000\\u001b[2J\\u007f\\u0085\\u009b\\u00ad\\u200e\\u2028\\u2029\\u202e\\u2066"
                        + "\\ufeff\\ud83dz\\udb40\\udc01");
    }

    @Test
    void what_can_be_printed_stays_as_it_is() {
        String text = "Müller \\ \"quoted\" 株式会社 😀 العربية";

        assertThat(PrintableText.of(text)).isSameAs(text);
        assertThat(PrintableText.ofJson(text)).isSameAs(text);
    }

    @Test
    void every_character_comes_out_printable() {
        for (int c = 0; c <= Character.MAX_CODE_POINT; c++) {
            String line = PrintableText.of("a" + Character.toString(c) + "b");

            assertThat(line.codePoints().allMatch(PrintableText::isPrintable))
                    .as("%x", c)
                    .isTrue();
        }
    }

    @Test
    void a_long_text_is_cut_between_characters_and_says_so() {
        assertThat(PrintableText.of("x".repeat(10), 10)).isEqualTo("x".repeat(10));
        assertThat(PrintableText.of("x".repeat(11), 10)).isEqualTo("x".repeat(9) + "…");
        assertThat(PrintableText.of("x".repeat(8) + "😀yy", 10)).isEqualTo("x".repeat(8) + "…");
        assertThat(PrintableText.of("\n".repeat(10_000), 10)).isEqualTo("\\n\\n\\n\\n\\…");
    }

    @Test
    void json_keeps_its_meaning() {
        String json = Objects.requireNonNull(JsonCodec.toJson(Map.of("id", HOSTILE.replace("\uD83D", ""))));

        String safe = PrintableText.ofJson(json);

        assertThat(safe.codePoints().allMatch(PrintableText::isPrintable)).isTrue();
        assertThat(JsonCodec.parseObject(safe)).isEqualTo(JsonCodec.parseObject(json));
        assertThat(PrintableText.ofJson("{\n  \"a\" : 1\r\n}")).isEqualTo("{\n  \"a\" : 1\r\n}");
    }
}
