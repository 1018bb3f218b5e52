package outbox.util;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullAndEmptySource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

class JsonCodecTest {

    private static final String[] NASTY = {
        "",
        "\"",
        "\\",
        "/",
        "\b\f\n\r\t",
        "\0",
        "\u0001",
        "\u001f",
        "\u007f",
        "\u0085",
        "\u2028",
        "\uD83D\uDE00",
        "\uD83D",
        "\uDE00",
        "\uffff",
        "\\u0041",
        "{}",
        "[",
        ",",
        ":",
        "null",
        "é",
        "€",
        " ",
        "İ",
        "\ufeff"
    };

    @Test
    void nothing_becomes_null() {
        assertThat(JsonCodec.toJson(null)).isNull();
        assertThat(JsonCodec.toJson(Map.of())).isNull();
    }

    @Test
    void entries_are_written_in_their_order() {
        Map<String, @Nullable String> map = new LinkedHashMap<>();
        map.put("b", "1");
        map.put("a", "2");

        assertThat(JsonCodec.toJson(map)).isEqualTo("{\"b\":\"1\",\"a\":\"2\"}");
    }

    @Test
    void a_null_value_becomes_the_empty_string() {
        Map<String, @Nullable String> map = new LinkedHashMap<>();
        map.put("a", null);

        assertThat(JsonCodec.toJson(map)).isEqualTo("{\"a\":\"\"}");
    }

    @Test
    void what_json_cannot_hold_is_escaped() {
        assertThat(JsonCodec.toJson(Map.of("k", "\"\\\n\r\t\u0001/é")))
                .isEqualTo("{\"k\":\"\\\"\\\\\\n\\r\\t\\u0001/é\"}");
    }

    @ParameterizedTest
    @NullAndEmptySource
    @ValueSource(strings = {"{}", " { } ", "\r\n{\t}\n"})
    void nothing_is_read_as_an_empty_map(String json) {
        assertThat(JsonCodec.parseObject(json)).isEmpty();
    }

    @Test
    void entries_are_read_in_their_order_with_any_white_space() {
        assertThat(JsonCodec.parseObject(" { \"b\" : \"1\" ,\n\"a\":\t\"2\" } "))
                .containsExactly(Map.entry("b", "1"), Map.entry("a", "2"));
    }

    @Test
    void every_escape_is_understood() {
        assertThat(JsonCodec.parseObject("{\"k\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\uDE00\\u00E9\"}"))
                .containsEntry("k", "\"\\/\b\f\n\r\té\uD83D\uDE00é");
    }

    @Test
    void values_that_are_not_strings_are_read_as_their_text() {
        assertThat(JsonCodec.parseObject("{\"a\":1,\"b\":-0.5e+10,\"c\":true,\"d\":false,\"e\":null , \"f\":0 }"))
                .containsExactly(
                        Map.entry("a", "1"),
                        Map.entry("b", "-0.5e+10"),
                        Map.entry("c", "true"),
                        Map.entry("d", "false"),
                        Map.entry("e", ""),
                        Map.entry("f", "0"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                " ",
                "null",
                "[]",
                "\"a\"",
                "{",
                "}",
                "{,}",
                "{\"a\"}",
                "{\"a\":}",
                "{\"a\":\"b\",}",
                "{\"a\":\"b\"",
                "{\"a\":\"b",
                "{\"a\":\"b\\",
                "{\"a\":\"b\\x\"}",
                "{\"a\":\"\\u12\"}",
                "{\"a\":\"\\u12g4\"}",
                "{\"a\":\"\\u\uFF11\uFF11\uFF11\uFF11\"}",
                "{\"a\":\"line\nbreak\"}",
                "{\"a\":{}}",
                "{\"a\":[]}",
                "{\"a\":01}",
                "{\"a\":+1}",
                "{\"a\":1.}",
                "{\"a\":NaN}",
                "{\"a\":True}",
                "{a:1}",
                "{'a':1}",
                "{\"a\":1}{}",
                "{\"a\":1} x",
                "{}\uffff",
                "{\"a\":1\uffff}",
                "\ufeff{}",
                "{\"a\" \"b\"}",
                "{\"a\":\"b\" \"c\":\"d\"}"
            })
    void anything_else_is_malformed(String json) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> JsonCodec.parseObject(json))
                .withMessageContaining("Malformed JSON object")
                .withMessageContaining("at index");
    }

    @Test
    void deep_nesting_does_not_exhaust_the_stack() {
        assertThatIllegalArgumentException().isThrownBy(() -> JsonCodec.parseObject("{\"a\":".repeat(200_000)));
    }

    @Test
    void whatever_is_written_is_read_back() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        for (int round = 0; round < 3_000; round++) {
            Map<String, String> map = nastyMap(random);

            String json = JsonCodec.toJson(new LinkedHashMap<>(map));

            assertThat(JsonCodec.parseObject(json))
                    .as("seed %d, round %d, JSON %s", seed, round, json)
                    .isEqualTo(map)
                    .containsExactlyEntriesOf(map);
        }
    }

    private static Map<String, String> nastyMap(Random random) {
        Map<String, String> map = new LinkedHashMap<>();
        for (int i = random.nextInt(6); i >= 0; i--) {
            map.put(nastyText(random), nastyText(random));
        }
        return map;
    }

    private static String nastyText(Random random) {
        StringBuilder text = new StringBuilder();
        for (int i = random.nextInt(5); i > 0; i--) {
            text.append(random.nextBoolean() ? NASTY[random.nextInt(NASTY.length)] : (char) random.nextInt(0x10000));
        }
        return text.toString();
    }
}
