package outbox;

import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

@NullUnmarked
class EventEnvelopeTest {

    private static final String GRIN = "\uD83D\uDE00"; // one character, two UTF-16 units, four UTF-8 bytes

    private enum Orders implements EventType {
        PLACED
    }

    private enum Aggregates implements AggregateType {
        ORDER
    }

    @Test
    void what_is_not_given_gets_the_defaults_of_the_specification() {
        Instant before = Instant.now().minusMillis(1);

        EventEnvelope event = EventEnvelope.ofJson("UserCreated", "{}");

        assertThat(event.eventId()).hasSize(26);
        assertThat(event.occurredAt()).isBetween(before, Instant.now());
        assertThat(event.aggregateType()).isEqualTo("__GLOBAL__");
        assertThat(event.aggregateId()).isNull();
        assertThat(event.tenantId()).isNull();
        assertThat(event.headers()).isEmpty();
        assertThat(event.payloadJson()).isEqualTo("{}");
        assertThat(event.isBinary()).isFalse();
    }

    @Test
    void everything_given_is_kept() {
        Instant occurredAt = Instant.parse("2026-01-02T03:04:05.678901Z");

        EventEnvelope event = EventEnvelope.builder(Orders.PLACED)
                .eventId("id-1")
                .occurredAt(occurredAt)
                .aggregateType(Aggregates.ORDER)
                .aggregateId("42")
                .tenantId("acme")
                .header("trace", "t-1")
                .headers(Map.of("lang", "de"))
                .payloadJson("{\"a\": 1}")
                .build();

        assertThat(event.eventId()).isEqualTo("id-1");
        assertThat(event.eventType()).isEqualTo("PLACED");
        assertThat(event.occurredAt()).isEqualTo(occurredAt);
        assertThat(event.aggregateType()).isEqualTo("ORDER");
        assertThat(event.aggregateId()).isEqualTo("42");
        assertThat(event.tenantId()).isEqualTo("acme");
        assertThat(event.headers()).containsExactly(Map.entry("trace", "t-1"), Map.entry("lang", "de"));
        assertThat(event.payloadJson()).isEqualTo("{\"a\": 1}");
        assertThat(event.payloadBytes()).isEqualTo("{\"a\": 1}".getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void the_shorthand_takes_a_typed_name_too() {
        assertThat(EventEnvelope.ofJson(Orders.PLACED, "{}").eventType()).isEqualTo("PLACED");
    }

    // ---- payload ----

    @Test
    void exactly_one_payload_is_required() {
        assertRefused(builder(), "exactly one of payloadJson and payloadBytes");
        assertRefused(
                builder().payloadJson("{}").payloadBytes(new byte[1]), "exactly one of payloadJson and payloadBytes");
    }

    @Test
    void an_empty_payload_is_a_payload() {
        assertThat(builder().payloadJson("").build().payloadSize()).isZero();
        assertThat(builder().payloadBytes(new byte[0]).build().payloadSize()).isZero();
    }

    @Test
    void a_payload_of_one_mebibyte_is_taken_and_one_byte_more_is_refused() {
        int limit = EventEnvelope.MAX_PAYLOAD_BYTES;

        assertThat(limit).isEqualTo(1_048_576);
        assertThat(builder().payloadJson("x".repeat(limit)).build().payloadSize())
                .isEqualTo(limit);
        assertThat(builder().payloadBytes(new byte[limit]).build().payloadSize())
                .isEqualTo(limit);
        assertRefused(builder().payloadJson("x".repeat(limit + 1)), "1048577 bytes", "at most 1048576");
        assertRefused(builder().payloadBytes(new byte[limit + 1]), "1048577 bytes", "at most 1048576");
    }

    @ParameterizedTest
    @ValueSource(strings = {"x", "é", "€", GRIN})
    void the_size_of_a_text_is_counted_in_bytes_of_utf8(String character) {
        int bytes = character.getBytes(StandardCharsets.UTF_8).length;
        int most = EventEnvelope.MAX_PAYLOAD_BYTES / bytes;
        String padding = "x".repeat(EventEnvelope.MAX_PAYLOAD_BYTES - most * bytes);

        EventEnvelope largest =
                builder().payloadJson(character.repeat(most) + padding).build();

        assertThat(largest.payloadSize()).isEqualTo(EventEnvelope.MAX_PAYLOAD_BYTES);
        assertThat(largest.payloadBytes()).hasSize(EventEnvelope.MAX_PAYLOAD_BYTES);
        assertRefused(builder().payloadJson(character.repeat(most) + padding + "x"), "1048577 bytes");
    }

    @ParameterizedTest
    @ValueSource(strings = {"\uD83D", "\uDE00", "\uDE00\uD83D", "a\uD83Db", "\uD83D\uD83D\uDE00"})
    void a_text_with_a_lone_surrogate_is_refused_everywhere(String broken) {
        assertRefused(builder().payloadJson(broken), "payload", "lone surrogate");
        assertRefused(EventEnvelope.builder(broken).payloadJson("{}"), "eventType", "lone surrogate");
        assertRefused(builder().eventId(broken).payloadJson("{}"), "eventId", "lone surrogate");
        assertRefused(builder().aggregateType(broken).payloadJson("{}"), "aggregateType", "lone surrogate");
        assertRefused(builder().aggregateId(broken).payloadJson("{}"), "aggregateId", "lone surrogate");
        assertRefused(builder().tenantId(broken).payloadJson("{}"), "tenantId", "lone surrogate");
        assertThatExceptionOfType(InvalidEventException.class)
                .isThrownBy(() -> builder().header(broken, "x"));
        assertThatExceptionOfType(InvalidEventException.class)
                .isThrownBy(() -> builder().header("x", broken));
    }

    @Test
    void a_text_with_a_nul_is_refused_everywhere() {
        String broken = "a\0b";

        assertRefused(builder().payloadJson(broken), "payload", "NUL", "index 1");
        assertRefused(EventEnvelope.builder(broken).payloadJson("{}"), "eventType", "NUL");
        assertRefused(builder().eventId(broken).payloadJson("{}"), "eventId", "NUL");
        assertRefused(builder().aggregateType(broken).payloadJson("{}"), "aggregateType", "NUL");
        assertRefused(builder().aggregateId(broken).payloadJson("{}"), "aggregateId", "NUL");
        assertRefused(builder().tenantId(broken).payloadJson("{}"), "tenantId", "NUL");
        assertThatExceptionOfType(InvalidEventException.class)
                .isThrownBy(() -> builder().header("x", broken))
                .withMessageContaining("NUL");
    }

    @Test
    void bytes_need_not_be_text() {
        byte[] bytes = {0, (byte) 0xff, (byte) 0xfe, 0};

        EventEnvelope event = builder().payloadBytes(bytes).build();

        assertThat(event.isBinary()).isTrue();
        assertThat(event.payloadBytes()).isEqualTo(bytes);
    }

    @Test
    void bytes_that_are_text_can_be_read_as_text() {
        EventEnvelope event = builder()
                .payloadBytes("{\"ä\":1}".getBytes(StandardCharsets.UTF_8))
                .build();

        assertThat(event.payloadJson()).isEqualTo("{\"ä\":1}");
    }

    @Test
    void a_payload_is_opaque_and_kept_as_given() {
        String odd = " {\"a\":1,\"a\":2, \"n\":1e400, \"u\":\"\\u0000\"} trailing";

        assertThat(builder().payloadJson(odd).build().payloadJson()).isEqualTo(odd);
    }

    // ---- names ----

    @ParameterizedTest
    @CsvSource({"eventType,128", "eventId,36", "aggregateType,64", "aggregateId,128", "tenantId,64"})
    void a_name_may_fill_its_column_counted_in_characters(String field, int length) {
        named(field, "x".repeat(length)).build();
        named(field, GRIN.repeat(length)).build();

        assertRefused(named(field, "x".repeat(length + 1)), field, "longer than the " + length + " characters");
        assertRefused(named(field, GRIN.repeat(length + 1)), field, "longer than the " + length + " characters");
    }

    @ParameterizedTest
    @ValueSource(strings = {"eventType", "eventId", "aggregateType", "aggregateId", "tenantId"})
    void an_empty_name_is_refused(String field) {
        assertRefused(named(field, ""), field + " must not be empty");
    }

    @ParameterizedTest
    @ValueSource(strings = {" id", "id ", "\tid", "id\u2003"})
    void an_id_with_white_space_around_it_is_refused(String id) {
        assertRefused(named("eventId", id), "white space");
    }

    @Test
    void a_required_part_must_not_be_null() {
        assertThatNullPointerException().isThrownBy(() -> EventEnvelope.builder((String) null));
        assertThatNullPointerException().isThrownBy(() -> EventEnvelope.builder((EventType) null));
        assertThatNullPointerException().isThrownBy(() -> builder().eventId(null));
        assertThatNullPointerException().isThrownBy(() -> builder().occurredAt(null));
        assertThatNullPointerException().isThrownBy(() -> builder().aggregateType((String) null));
        assertThatNullPointerException().isThrownBy(() -> builder().payloadJson(null));
        assertThatNullPointerException().isThrownBy(() -> builder().payloadBytes(null));
        assertThatNullPointerException().isThrownBy(() -> builder().headers(null));
        assertThatNullPointerException().isThrownBy(() -> builder().header(null, "x"));
    }

    // ---- time ----

    @ParameterizedTest
    @ValueSource(strings = {"1000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "2500-06-01T12:00:00Z"})
    void any_time_that_every_database_keeps_is_taken(String time) {
        EventEnvelope event =
                builder().payloadJson("{}").occurredAt(Instant.parse(time)).build();

        assertThat(Duration.between(event.occurredAt(), Instant.parse(time))).isLessThan(Duration.ofNanos(1000));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "0999-12-31T23:59:59.999999999Z",
                "+10000-01-01T00:00:00Z",
                "-1000000000-01-01T00:00:00Z",
                "+1000000000-12-31T23:59:59.999999999Z"
            })
    void a_time_beyond_is_refused(String time) {
        assertRefused(builder().payloadJson("{}").occurredAt(Instant.parse(time)), "occurredAt must be between");
    }

    @Test
    void times_are_cut_to_microseconds() {
        Instant precise = Instant.parse("2026-01-02T03:04:05.123456999Z");

        EventEnvelope event = builder().payloadJson("{}").occurredAt(precise).build();

        assertThat(event.occurredAt()).isEqualTo(Instant.parse("2026-01-02T03:04:05.123456Z"));
    }

    // ---- headers ----

    @ParameterizedTest
    @ValueSource(strings = {"", "a\rb", "a\nb", "a\0b", "a\tb", "\u007f", "\u0085"})
    void a_header_name_that_is_empty_or_has_control_characters_is_refused(String name) {
        assertThatExceptionOfType(InvalidEventException.class)
                .isThrownBy(() -> builder().header(name, "x"))
                .withMessageNotContainingAny("\r", "\n", "\0");
    }

    @ParameterizedTest
    @ValueSource(strings = {"outbox-hops", "outbox-", "OUTBOX-x", "Outbox-İ"})
    void a_header_name_of_the_framework_is_refused(String name) {
        assertThatExceptionOfType(InvalidEventException.class)
                .isThrownBy(() -> builder().header(name, "x"))
                .withMessageContaining("reserved");
    }

    @Test
    void a_header_name_may_have_256_characters() {
        builder().header("x".repeat(256), "x").payloadJson("{}").build();

        assertThatExceptionOfType(InvalidEventException.class)
                .isThrownBy(() -> builder().header("x".repeat(257), "x"))
                .withMessageContaining("256");
    }

    @Test
    void a_header_value_may_have_several_lines() {
        EventEnvelope event =
                builder().payloadJson("{}").header("text", "a\r\nb\u0001").build();

        assertThat(event.headers()).containsEntry("text", "a\r\nb\u0001");
    }

    @Test
    void an_absent_header_value_is_the_empty_string() {
        Map<String, String> given = new HashMap<>();
        given.put("a", null);

        EventEnvelope event =
                builder().payloadJson("{}").headers(given).header("b", null).build();

        assertThat(event.headers()).containsOnly(Map.entry("a", ""), Map.entry("b", ""));
    }

    @Test
    void a_header_given_twice_has_the_last_value() {
        EventEnvelope event =
                builder().payloadJson("{}").header("a", "1").header("a", "2").build();

        assertThat(event.headers()).containsOnly(Map.entry("a", "2"));
    }

    @Test
    void ten_thousand_headers_are_refused_and_256_are_taken() {
        EventEnvelope.Builder most = builder().payloadJson("{}");
        EventEnvelope.Builder tooMany = builder().payloadJson("{}");
        for (int i = 0; i < 256; i++) {
            most.header("h" + i, "");
        }
        for (int i = 0; i < 10_000; i++) {
            tooMany.header("h" + i, "");
        }

        assertThat(most.build().headers()).hasSize(256);
        assertRefused(most.header("one more", ""), "at most 256 headers, not 257");
        assertRefused(tooMany, "at most 256 headers, not 10000");
    }

    @Test
    void headers_may_have_64_kibibytes_together() {
        EventEnvelope.Builder event = builder().payloadJson("{}").header("h", "x".repeat(65_535));

        assertThat(event.build().headers()).hasSize(1);
        assertRefused(event.header("h", "x".repeat(65_534) + "é"), "65536 bytes together, not 65537");
    }

    // ---- immutability ----

    @Test
    void changing_the_array_that_was_given_or_returned_changes_nothing() {
        byte[] given = {1, 2, 3};
        EventEnvelope event = builder().payloadBytes(given).build();

        Arrays.fill(given, (byte) 9);
        Arrays.fill(event.payloadBytes(), (byte) 9);

        assertThat(event.payloadBytes()).containsExactly(1, 2, 3);
    }

    @Test
    void changing_the_headers_that_were_given_changes_nothing() {
        Map<String, String> given = new LinkedHashMap<>(Map.of("a", "1"));
        EventEnvelope event = builder().payloadJson("{}").headers(given).build();

        given.put("a", "2");
        given.put("b", "3");

        assertThat(event.headers()).containsOnly(Map.entry("a", "1"));
    }

    @Test
    void headers_cannot_be_changed_through_the_envelope() {
        EventEnvelope event = builder().payloadJson("{}").header("a", "1").build();

        assertThat(event.headers()).isUnmodifiable();
    }

    @Test
    void a_builder_used_again_does_not_reach_into_what_it_built() {
        EventEnvelope.Builder builder = builder().payloadBytes(new byte[] {1}).header("a", "1");
        EventEnvelope first = builder.build();

        builder.header("a", "2").payloadBytes(new byte[] {2}).build();

        assertThat(first.headers()).containsOnly(Map.entry("a", "1"));
        assertThat(first.payloadBytes()).containsExactly(1);
    }

    // ---- identity and text ----

    @Test
    void envelopes_are_equal_when_everything_stored_is_equal() {
        EventEnvelope.Builder builder = EventEnvelope.builder("t")
                .eventId("id")
                .occurredAt(Instant.EPOCH)
                .header("a", "1")
                .payloadJson("{}");

        EventEnvelope one = builder.build();
        EventEnvelope same = builder.build();

        assertThat(one).isEqualTo(same).hasSameHashCodeAs(same).isNotEqualTo("id");
        assertThat(one).isNotEqualTo(builder.header("a", "2").build());
        assertThat(one).isNotEqualTo(builder.header("a", "1").payloadJson("[]").build());
        assertThat(one).isNotEqualTo(builder.payloadJson("{}").tenantId("x").build());
    }

    @Test
    void the_payload_and_header_values_are_not_in_the_text_of_an_envelope() {
        EventEnvelope event = builder()
                .payloadJson("{\"card\":\"4111\"}")
                .header("authorization", "secret")
                .aggregateId("42")
                .build();

        assertThat(event.toString())
                .contains(event.eventId(), "'t'", "'42'", "15 bytes")
                .doesNotContain("4111", "secret");
    }

    @Test
    void the_text_of_an_envelope_cannot_forge_a_log_line() {
        EventEnvelope event = EventEnvelope.builder("a\r\nERROR forged")
                .aggregateId("\u001b[31m")
                .payloadJson("{}")
                .build();

        assertThat(event.toString()).doesNotContain("\r", "\n", "\u001b");
    }

    private static EventEnvelope.Builder builder() {
        return EventEnvelope.builder("t");
    }

    private static EventEnvelope.Builder named(String field, String value) {
        EventEnvelope.Builder builder = EventEnvelope.builder(field.equals("eventType") ? value : "t");
        switch (field) {
            case "eventId" -> builder.eventId(value);
            case "aggregateType" -> builder.aggregateType(value);
            case "aggregateId" -> builder.aggregateId(value);
            case "tenantId" -> builder.tenantId(value);
            default -> assertThat(field).isEqualTo("eventType");
        }
        return builder.payloadJson("{}");
    }

    private static void assertRefused(EventEnvelope.Builder builder, String... words) {
        assertThatExceptionOfType(InvalidEventException.class)
                .isThrownBy(builder::build)
                .satisfies(refusal -> assertThat(refusal.getMessage()).contains(words));
    }
}
