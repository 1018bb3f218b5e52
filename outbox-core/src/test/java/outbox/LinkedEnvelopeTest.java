package outbox;

import org.junit.jupiter.api.Test;
import outbox.model.OutboxEvent;
import outbox.util.JsonCodec;

import java.time.Instant;
import java.util.List;
import java.util.Map;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** Schema version, correlation id and causation id, and the two ways to create an event. */
class LinkedEnvelopeTest {

    private static EventEnvelope.Builder event() {
        return EventEnvelope.builder("EnrollmentCreated").aggregateId("7").payloadJson("{}");
    }

    @Test
    void an_event_that_uses_nothing_has_version_1_and_no_header() {
        EventEnvelope event = event().build();

        assertThat(event.schemaVersion()).isEqualTo(1);
        assertThat(event.correlationId()).isNull();
        assertThat(event.causationId()).isNull();
        assertThat(event.headers()).isEmpty();
        assertThat(event().schemaVersion(2).schemaVersion(1).build().headers()).isEmpty();
    }

    @Test
    void what_was_given_comes_back_from_any_table_that_keeps_headers() {
        EventEnvelope event = event().header("own", "1")
                .schemaVersion(3)
                .correlationId("request ✓")
                .causationId("event-1")
                .build();

        EventEnvelope restored = EventEnvelope.restore(new OutboxEvent(
                event.eventId(),
                event.eventType(),
                event.aggregateType(),
                event.aggregateId(),
                null,
                "{}",
                JsonCodec.toJson(event.headers()),
                0,
                event.occurredAt(),
                event.occurredAt(),
                null));

        assertThat(restored).isEqualTo(event);
        assertThat(restored.schemaVersion()).isEqualTo(3);
        assertThat(restored.correlationId()).isEqualTo("request ✓");
        assertThat(restored.causationId()).isEqualTo("event-1");
    }

    @Test
    void wrong_values_are_refused() {
        for (Runnable wrong : new Runnable[] {
            () -> event().schemaVersion(0),
            () -> event().correlationId(""),
            () -> event().correlationId("x".repeat(129)),
            () -> event().causationId("a\u0000")
        }) {
            assertThatThrownBy(wrong::run).isInstanceOf(InvalidEventException.class);
        }
    }

    @Test
    void a_version_that_is_none_is_told_to_who_asks_and_keeps_nobody_else_from_the_event() {
        EventEnvelope restored = EventEnvelope.restore(new OutboxEvent(
                "1", "T", null, null, null, "{}", "{\"outbox-schema-version\":\"two\"}", 0, Instant.EPOCH));

        assertThat(restored.payloadJson()).isEqualTo("{}");
        assertThatThrownBy(restored::schemaVersion)
                .isInstanceOf(InvalidEventException.class)
                .hasMessageContaining("'two'");
    }

    @Test
    void one_way_to_make_an_event_sets_a_key_and_the_other_does_not() {
        assertThat(event().build().dedupKey()).isNull();
        assertThat(event().buildKeyed().dedupKey()).isEqualTo("EnrollmentCreated:7:1");
        assertThat(event().schemaVersion(2).buildKeyed().dedupKey()).isEqualTo("EnrollmentCreated:7:2");
        assertThat(event().dedupKey("enrollment:7").buildKeyed().dedupKey()).isEqualTo("enrollment:7");
    }

    @Test
    void an_event_does_not_change_whichever_way_it_was_made() {
        EventEnvelope.Builder builder = event().header("own", "1");
        for (EventEnvelope event : List.of(builder.build(), builder.buildKeyed())) {
            builder.header("own", "2").schemaVersion(2).priority(9).payloadJson("[]");

            assertThat(event.headers()).isEqualTo(Map.of("own", "1"));
            assertThatThrownBy(() -> event.headers().put("own", "3")).isInstanceOf(UnsupportedOperationException.class);
            event.payloadBytes()[0] = '!';
            assertThat(event.payloadBytes()).asString(UTF_8).isEqualTo("{}");
            assertThat(event.schemaVersion()).isEqualTo(1);
            assertThat(event.priority()).isZero();
            assertThat(event.occurredAt()).isNotNull();
        }
    }

    @Test
    void a_builder_that_made_an_event_with_a_key_makes_the_next_with_its_own() {
        EventEnvelope.Builder builder = event();
        builder.buildKeyed();

        assertThat(builder.build().dedupKey()).isNull();
        assertThat(builder.aggregateId("8").buildKeyed().dedupKey()).isEqualTo("EnrollmentCreated:8:1");
    }

    @Test
    void without_an_aggregate_there_is_no_default_key() {
        assertThatThrownBy(() -> EventEnvelope.builder("T").payloadJson("{}").buildKeyed())
                .isInstanceOf(InvalidEventException.class)
                .hasMessageContaining("aggregateId");
    }

    @Test
    void a_default_key_that_is_too_tooLongis_refused() {
        EventEnvelope.Builder tooLong = event().aggregateId("a".repeat(120));

        assertThatThrownBy(tooLong::buildKeyed)
                .isInstanceOf(InvalidEventException.class)
                .hasMessageContaining("dedupKey");
        assertThat(tooLong.build().dedupKey()).isNull();
    }
}
