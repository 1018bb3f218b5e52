package outbox.spi;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.model.OutboxEvent;

import java.nio.charset.StandardCharsets;
import java.time.Instant;

import static org.assertj.core.api.Assertions.assertThat;

/** Listeners throw exceptions of other libraries. None of them may prevent an outcome from being written. */
class ErrorTextTest {

    @Test
    void ids_and_the_type_of_the_event_stay_readable() {
        String order = "7b0d5f0e-2d0c-4c0a-9a54-4f6a52c1f0aa";
        EventEnvelope event = EventEnvelope.builder("order.created.v1")
                .eventId("01JD0000000000000000000000")
                .aggregateType("order")
                .aggregateId(order)
                .payloadJson(
                        "{\"order\":\"" + order + "\",\"type\":\"order.created.v1\",\"card\":\"4111111111111111\"}")
                .build();

        String text = ErrorText.of(
                event, new IllegalStateException("order.created.v1: no order " + order + " for 4111111111111111"));

        assertThat(text)
                .isEqualTo("java.lang.IllegalStateException: order.created.v1: no order " + order + " for [payload]");
    }

    @Test
    void a_payload_given_as_bytes_is_hidden_as_text() {
        EventEnvelope event = EventEnvelope.builder("t")
                .payloadBytes("name;iban\nada;DE02120300000000202051".getBytes(StandardCharsets.UTF_8))
                .build();

        assertThat(ErrorText.of(event, new IllegalStateException("bad line: ada;DE02120300000000202051")))
                .isEqualTo("java.lang.IllegalStateException: bad line: [payload]");
    }

    @Test
    void the_payload_of_a_stored_event_is_hidden_in_a_text_too() {
        OutboxEvent event =
                new OutboxEvent("1", "t", null, null, null, "{\"card\":\"4111111111111111\"}", null, 0, Instant.EPOCH);

        assertThat(ErrorText.withoutPayload(event, "no card 4111111111111111")).isEqualTo("no card [payload]");
    }

    @Test
    void an_exception_is_told_by_class_and_message() {
        assertThat(ErrorText.of(new IllegalStateException("broken")))
                .isEqualTo("java.lang.IllegalStateException: broken");
    }

    @Test
    void an_exception_without_message_is_told_by_its_class() {
        assertThat(ErrorText.of(new IllegalStateException())).isEqualTo("java.lang.IllegalStateException");
    }

    @Test
    void causes_are_told_too() {
        Exception error = new IllegalStateException("outer", new IllegalArgumentException("inner"));

        assertThat(ErrorText.of(error))
                .isEqualTo(
                        "java.lang.IllegalStateException: outer; caused by java.lang.IllegalArgumentException: inner");
    }

    @Test
    void a_message_of_five_megabytes_is_cut() {
        assertThat(ErrorText.of(new IllegalStateException("x".repeat(5_000_000))))
                .hasSize(ErrorText.MAX_LENGTH);
    }

    @Test
    void the_limit_is_the_one_of_the_specification() {
        assertThat(ErrorText.MAX_LENGTH).isEqualTo(4000);
        assertThat(ErrorText.clean("x".repeat(4000))).hasSize(4000);
        assertThat(ErrorText.clean("x".repeat(4001))).hasSize(4000);
    }

    @Test
    void nul_and_control_characters_are_replaced_and_line_breaks_kept() {
        assertThat(ErrorText.clean("a\0b\u001b[31m\r\n\tc\u0085")).isEqualTo("a?b?[31m?\n\tc?");
    }

    @Test
    void lone_surrogates_are_replaced() {
        assertThat(ErrorText.clean("a\uD83Db\uDE00c")).isEqualTo("a?b?c");
    }

    @Test
    void a_character_is_never_cut_in_two() {
        String grin = "\uD83D\uDE00";

        assertThat(ErrorText.clean("x".repeat(3998) + grin)).hasSize(4000).endsWith(grin);
        assertThat(ErrorText.clean("x".repeat(3999) + grin)).isEqualTo("x".repeat(3999));
        for (int shift = 0; shift < 4; shift++) {
            String text = ErrorText.of(new IllegalStateException("y".repeat(shift) + grin.repeat(4000)));
            assertThat(new String(text.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8))
                    .isEqualTo(text)
                    .doesNotContain("?");
        }
    }

    @Test
    void a_cycle_of_causes_ends() {
        Exception one = new IllegalStateException("one");
        Exception other = new IllegalStateException("other", one);
        one.initCause(other);

        assertThat(ErrorText.of(one)).contains("one", "other").hasSizeLessThan(1000);
    }

    @Test
    void a_chain_of_a_thousand_causes_is_cut() {
        Exception error = new IllegalStateException("root");
        for (int i = 0; i < 1000; i++) {
            error = new IllegalStateException("layer " + i, error);
        }

        assertThat(ErrorText.of(error)).contains("layer 999", "layer 994").doesNotContain("root");
    }

    @Test
    void a_message_that_throws_is_said_so() {
        assertThat(ErrorText.of(new Hostile(true, false))).contains("Hostile", "cannot be read", "StackOverflowError");
    }

    @Test
    void a_cause_that_throws_is_left_out() {
        assertThat(ErrorText.of(new Hostile(false, true))).contains("Hostile: fine");
    }

    private static final class Hostile extends RuntimeException {

        private static final long serialVersionUID = 1L;

        private final boolean messageThrows;
        private final boolean causeThrows;

        Hostile(boolean messageThrows, boolean causeThrows) {
            this.messageThrows = messageThrows;
            this.causeThrows = causeThrows;
        }

        @Override
        public String getMessage() {
            if (messageThrows) {
                throw new StackOverflowError();
            }
            return "fine";
        }

        @Override
        public synchronized @Nullable Throwable getCause() {
            if (causeThrows) {
                throw new IllegalStateException("no cause for you");
            }
            return null;
        }
    }
}
