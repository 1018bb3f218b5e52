package outbox;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import outbox.model.OutboxEvent;

import java.time.Instant;
import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

class RestoredEnvelopeTest {

    private static final Instant STORED = Instant.parse("2026-01-02T03:04:05Z");

    @Test
    void a_row_becomes_the_envelope_it_was_written_from() {
        OutboxEvent row = new OutboxEvent(
                "id",
                "t",
                "ORDER",
                "42",
                "acme",
                "{ \"a\":1}",
                "{\"h\":\"v\"}",
                3,
                STORED,
                STORED.minusSeconds(5),
                null);

        EventEnvelope event = EventEnvelope.restore(row);

        assertThat(event.eventId()).isEqualTo("id");
        assertThat(event.eventType()).isEqualTo("t");
        assertThat(event.aggregateType()).isEqualTo("ORDER");
        assertThat(event.aggregateId()).isEqualTo("42");
        assertThat(event.tenantId()).isEqualTo("acme");
        assertThat(event.payloadJson()).isEqualTo("{ \"a\":1}");
        assertThat(event.headers()).containsOnly(Map.entry("h", "v"));
        assertThat(event.occurredAt()).isEqualTo(STORED.minusSeconds(5));
    }

    @Test
    void a_row_without_aggregate_type_is_global() {
        OutboxEvent row = new OutboxEvent("id", "t", null, null, null, "{}", null, 0, STORED);

        assertThat(EventEnvelope.restore(row).aggregateType()).isEqualTo(AggregateType.GLOBAL.name());
    }

    @Test
    void without_the_time_of_the_fact_the_time_of_the_row_stands_in() {
        assertThat(EventEnvelope.restore(row(null)).occurredAt()).isEqualTo(STORED);
    }

    @ParameterizedTest
    @ValueSource(strings = {"{", "[]", "nonsense", "{\"a\":{}}", "{\"a\":\"b\"} x", "\"\""})
    void malformed_headers_are_refused(String headers) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> EventEnvelope.restore(row(headers)))
                .withMessageContaining("Malformed JSON object");
    }

    @Test
    void headers_of_the_framework_survive() {
        assertThat(EventEnvelope.restore(row("{\"outbox-hops\":\"7\"}")).headers())
                .containsEntry("outbox-hops", "7");
    }

    @Test
    void what_a_builder_would_refuse_reaches_its_listener_once_it_is_in_the_table() {
        OutboxEvent row = new OutboxEvent(
                " an id longer than thirty-six characters ",
                "t".repeat(500),
                "",
                "",
                "",
                "x".repeat(EventEnvelope.MAX_PAYLOAD_BYTES + 1),
                "{\"a\\nb\":\"c\"}",
                0,
                STORED);

        EventEnvelope event = EventEnvelope.restore(row);

        assertThat(event.eventId()).isEqualTo(row.eventId());
        assertThat(event.headers()).containsEntry("a\nb", "c");
        assertThat(event.payloadSize()).isEqualTo(EventEnvelope.MAX_PAYLOAD_BYTES + 1);
    }

    @Test
    void a_payload_of_bytes_comes_back_as_bytes_of_its_own() {
        byte[] bytes = {1, 0, (byte) 0xff};
        OutboxEvent row = new OutboxEvent("id", "t", null, null, null, "", null, 0, STORED, null, bytes);
        EventEnvelope event = EventEnvelope.restore(row);

        bytes[0] = 9;

        assertThat(event.isBinary()).isTrue();
        assertThat(event.payloadBytes()).containsExactly(1, 0, 0xff);
    }

    private static OutboxEvent row(@Nullable String headers) {
        return new OutboxEvent("id", "t", null, null, null, "{}", headers, 0, STORED);
    }
}
