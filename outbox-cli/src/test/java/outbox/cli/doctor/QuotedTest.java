package outbox.cli.doctor;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;

@Tag("process")
class QuotedTest {

    private static final String HOSTILE = "ab 1'\"\\$`!%&;|<>()[]{}*?~#-@=\n\r\t\u001b\u0007\u0085\u00ad\u202e\u2028é中";

    @Test
    void bash_takes_any_text_as_one_word_and_nothing_unseen_is_in_it() throws Exception {
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        List<String> texts =
                new ArrayList<>(List.of("", "-x", "@x", "plain", "$(touch x)", "it's", "a=b", "~", "\uD83D\uDE00"));
        for (int i = 0; i < 300; i++) {
            StringBuilder text = new StringBuilder();
            random.ints(random.nextInt(1, 12), 0, HOSTILE.length()).forEach(at -> text.append(HOSTILE.charAt(at)));
            texts.add(text.toString());
        }
        String words = texts.stream().map(Quoted::shell).collect(Collectors.joining(" "));

        Process bash = new ProcessBuilder("bash", "-c", "print() { printf '%s\\0' \"$@\"; }; print " + words)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        String out = new String(bash.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

        assertThat(bash.waitFor()).as("seed " + seed).isZero();
        assertThat(List.of(out.substring(0, out.length() - 1).split("\0", -1)))
                .as("seed " + seed)
                .isEqualTo(texts);
        assertThat(words).doesNotContainPattern("[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]");
    }

    @Test
    void sql_takes_any_text_as_one_literal() {
        assertThat(Quoted.literal("it's \\", false)).isEqualTo("'it''s \\'");
        assertThat(Quoted.literal("it's \\", true)).isEqualTo("'it''s \\\\'");
        assertThat(Quoted.literal("a\n'\\", false)).isEqualTo("U&'a\\+00000a''\\\\'");
        assertThat(Quoted.literal("a\n", true)).isEqualTo("CONVERT(x'610a' USING utf8mb4)");
        assertThat(Quoted.identifier("a\"b", false)).isEqualTo("\"a\"\"b\"");
        assertThat(Quoted.identifier("a`b", true)).isEqualTo("`a``b`");
    }
}
