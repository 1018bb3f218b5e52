package outbox;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import outbox.fake.FakeTx;
import outbox.fake.MemoryEventStore;
import outbox.internal.CurrentEvent;
import outbox.model.OutboxEvent;

import java.time.Instant;
import java.util.List;
import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/** Events that a listener writes carry a hop count, so that a cycle of listeners ends. */
class HopsTest {

    private final MemoryEventStore store = new MemoryEventStore();
    private final OutboxWriter writer = new OutboxWriter(FakeTx.active(), store);

    @AfterEach
    void noListenerRuns() {
        CurrentEvent.clear();
    }

    @Test
    void what_is_written_outside_a_listener_carries_no_hops() {
        assertThat(headersOf(writer.write("t", "{}"))).isEmpty();
    }

    @Test
    void what_a_listener_writes_carries_one_hop_more_than_what_it_received() {
        CurrentEvent.set(EventEnvelope.ofJson("cause", "{}"));
        String first = writer.write("t", "{}");
        CurrentEvent.set(EventEnvelope.restore(store.row(first).event()));
        String second = writer.write("t", "{}");

        assertThat(headersOf(first)).containsOnly(Map.entry("outbox-hops", "1"));
        assertThat(headersOf(second)).containsOnly(Map.entry("outbox-hops", "2"));
    }

    @Test
    void what_is_written_in_a_call_with_several_events_counts_from_the_one_with_the_longest_chain() {
        CurrentEvent.set(List.of(EventEnvelope.ofJson("fresh", "{}"), received("41"), received("7")));

        assertThat(headersOf(writer.write("t", "{}"))).containsOnly(Map.entry("outbox-hops", "42"));
    }

    @Test
    void everything_else_of_the_event_stays_as_it_was() {
        EventEnvelope event = EventEnvelope.builder("t")
                .eventId("id")
                .aggregateType("Order")
                .aggregateId("42")
                .tenantId("acme")
                .header("a", "1")
                .payloadJson("{ }")
                .build();
        CurrentEvent.set(EventEnvelope.ofJson("cause", "{}"));

        List<String> ids = writer.writeAll(List.of(event));

        OutboxEvent row = store.row("id").event();
        assertThat(ids).containsExactly("id");
        assertThat(row.aggregateType()).isEqualTo("Order");
        assertThat(row.aggregateId()).isEqualTo("42");
        assertThat(row.tenantId()).isEqualTo("acme");
        assertThat(row.payloadJson()).isEqualTo("{ }");
        assertThat(headersOf("id")).containsOnly(Map.entry("a", "1"), Map.entry("outbox-hops", "1"));
    }

    @Test
    void a_chain_of_listeners_ends_after_a_hundred_events() {
        EventEnvelope cause = EventEnvelope.ofJson("ping", "{}");
        for (int hop = 1; hop <= 100; hop++) {
            CurrentEvent.set(cause);
            cause = EventEnvelope.restore(store.row(writer.write("ping", "{}")).event());
        }
        CurrentEvent.set(cause);
        int before = store.calls().size();

        assertThat(cause.headers()).containsEntry("outbox-hops", "100");
        assertThatExceptionOfType(InvalidEventException.class)
                .isThrownBy(() -> writer.write("ping", "{}"))
                .withMessageContaining("chain of 100 listeners");
        assertThat(store.calls()).hasSize(before);
    }

    @ParameterizedTest
    @CsvSource({"nonsense", "''", "-5", "99999999999999"})
    void a_count_that_another_program_wrote_wrongly_starts_anew(String count) {
        CurrentEvent.set(received(count));

        assertThat(headersOf(writer.write("t", "{}"))).containsEntry("outbox-hops", "1");
    }

    @ParameterizedTest
    @CsvSource({"100", "101", "2147483647"})
    void a_count_at_the_limit_or_beyond_ends_the_chain(String count) {
        CurrentEvent.set(received(count));

        assertThatExceptionOfType(InvalidEventException.class).isThrownBy(() -> writer.write("t", "{}"));
    }

    private static EventEnvelope received(String hops) {
        return EventEnvelope.restore(new OutboxEvent(
                "cause", "t", null, null, null, "{}", "{\"outbox-hops\":\"" + hops + "\"}", 0, Instant.now()));
    }

    private Map<String, String> headersOf(String eventId) {
        return EventEnvelope.restore(store.row(eventId).event()).headers();
    }
}
