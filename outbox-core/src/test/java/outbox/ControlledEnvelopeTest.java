package outbox;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import outbox.fake.FakeTx;
import outbox.fake.MemoryEventStore;

import java.time.Duration;
import java.time.Instant;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class ControlledEnvelopeTest {

    private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");

    private static EventEnvelope.Builder event() {
        return EventEnvelope.builder("T").payloadJson("{}");
    }

    @Test
    void a_time_is_given_once() {
        assertThatThrownBy(() -> event().availableAt(NOW)
                        .deliverAfter(Duration.ofSeconds(1))
                        .build())
                .isInstanceOf(InvalidEventException.class)
                .hasMessageContainingAll("availableAt", "deliverAfter");
        assertThatThrownBy(() -> event().expiresAt(NOW)
                        .expireAfter(Duration.ofSeconds(1))
                        .build())
                .isInstanceOf(InvalidEventException.class)
                .hasMessageContainingAll("expiresAt", "expireAfter");
    }

    @Test
    void a_span_is_positive_and_bounded() {
        assertThatThrownBy(() -> event().deliverAfter(Duration.ZERO)).isInstanceOf(InvalidEventException.class);
        assertThatThrownBy(() -> event().expireAfter(Duration.ofSeconds(-1))).isInstanceOf(InvalidEventException.class);
        assertThatThrownBy(() -> event().dedupFor(Duration.ofSeconds(Long.MAX_VALUE)))
                .isInstanceOf(InvalidEventException.class);
        assertThatThrownBy(() -> event().availableAt(Instant.MAX)).isInstanceOf(InvalidEventException.class);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " a", "a ", "a\nb", "a\u0000b"})
    void a_key_that_databases_compare_differently_is_refused(String key) {
        assertThatThrownBy(() -> event().dedupKey(key)).isInstanceOf(InvalidEventException.class);
    }

    @Test
    void a_key_has_a_length_and_a_span_needs_a_key() {
        assertThat(event().dedupKey("k".repeat(128)).build().dedupKey()).hasSize(128);
        assertThatThrownBy(() -> event().dedupKey("k".repeat(129))).isInstanceOf(InvalidEventException.class);
        assertThatThrownBy(() -> event().dedupFor(Duration.ofSeconds(1)).build())
                .isInstanceOf(InvalidEventException.class)
                .hasMessageContaining("dedupKey");
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 10})
    void a_priority_is_from_0_to_9(int priority) {
        assertThatThrownBy(() -> event().priority(priority)).isInstanceOf(InvalidEventException.class);
    }

    @Test
    void what_is_relative_to_the_write_is_counted_from_the_latest_that_it_can_be_now() {
        EventEnvelope event = event().deliverAfter(Duration.ofSeconds(10))
                .expireAfter(Duration.ofSeconds(20))
                .build()
                .writtenAt(NOW, NOW.plusMillis(5));

        assertThat(event.availableAt()).isEqualTo(NOW.plusMillis(10_005));
        assertThat(event.expiresAt()).isEqualTo(NOW.plusMillis(20_005));
        assertThat(event.deliverAfter()).isNull();
        assertThat(event.expireAfter()).isNull();
    }

    @Test
    void a_due_time_that_has_come_for_sure_is_none() {
        assertThat(event().availableAt(NOW)
                        .build()
                        .writtenAt(NOW, NOW.plusMillis(5))
                        .availableAt())
                .isNull();
        assertThat(event().availableAt(NOW.plusMillis(1))
                        .build()
                        .writtenAt(NOW, NOW.plusMillis(5))
                        .availableAt())
                .isEqualTo(NOW.plusMillis(1));
    }

    @Test
    void a_store_of_the_specification_refuses_what_it_cannot_keep() {
        OutboxWriter writer = new OutboxWriter(FakeTx.active(), new MemoryEventStore());

        for (EventEnvelope event : new EventEnvelope[] {
            event().deliverAfter(Duration.ofSeconds(1)).build(),
            event().dedupKey("k").build(),
            event().priority(1).build(),
            event().expiresAt(NOW).build()
        }) {
            assertThatThrownBy(() -> writer.write(event))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContainingAll(event.eventId(), "EventControl");
        }
        assertThatThrownBy(() -> writer.cancel(EventRef.id("a"))).isInstanceOf(IllegalArgumentException.class);
    }
}
