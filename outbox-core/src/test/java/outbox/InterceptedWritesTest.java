package outbox;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import outbox.fake.CapturedLog;
import outbox.fake.CountedMetrics;
import outbox.fake.FakeTx;
import outbox.fake.MemoryEventStore;
import outbox.spi.MetricsExporter;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.logging.Level;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

class InterceptedWritesTest {

    private final MemoryEventStore store = new MemoryEventStore();
    private final FakeTx tx = FakeTx.active();
    private final List<EventEnvelope> told = new ArrayList<>();
    private final OutboxWriter writer = new OutboxWriter(tx, store, told::add);
    private final List<String> calls = new ArrayList<>();

    /** Adds headers and records its calls. */
    private WriteInterceptor adding(String name, Map<String, String> headers) {
        return new WriteInterceptor() {
            @Override
            public Map<String, String> beforeWrite(EventEnvelope event) {
                calls.add("before " + name);
                return headers;
            }

            @Override
            public void afterWrite(EventEnvelope event, @Nullable Throwable error) {
                calls.add("after " + name
                        + (error == null ? "" : " " + error.getClass().getSimpleName()));
            }
        };
    }

    @Test
    void headers_that_interceptors_add_are_stored_and_reach_the_hook() {
        writer.interceptedBy(adding("one", Map.of("a", "1")))
                .interceptedBy(adding("two", Map.of("b", "2")))
                .write(EventEnvelope.builder("t")
                        .header("own", "0")
                        .payloadJson("{}")
                        .build());
        tx.commit();

        assertThat(told.get(0).headers()).isEqualTo(Map.of("own", "0", "a", "1", "b", "2"));
        EventEnvelope stored =
                EventEnvelope.restore(store.row(told.get(0).eventId()).event());
        assertThat(stored.headers()).isEqualTo(told.get(0).headers());
        assertThat(calls).containsExactly("before one", "before two", "after two", "after one");
    }

    @Test
    void a_header_that_the_event_has_stays() {
        writer.interceptedBy(adding("one", Map.of("a", "1")))
                .interceptedBy(adding("two", Map.of("a", "2", "b", "2")))
                .write(EventEnvelope.builder("t")
                        .header("a", "0")
                        .payloadJson("{}")
                        .build());
        tx.commit();

        assertThat(told.get(0).headers()).isEqualTo(Map.of("a", "0", "b", "2"));
    }

    @Test
    void a_write_that_fails_is_told_and_fails_as_without_interceptors() {
        EventEnvelope event = EventEnvelope.ofJson("t", "{}");

        assertThatExceptionOfType(InvalidEventException.class)
                .isThrownBy(() -> writer.interceptedBy(adding("one", Map.of())).writeAll(List.of(event, event)));

        assertThat(calls)
                .containsExactly(
                        "before one",
                        "before one",
                        "after one InvalidEventException",
                        "after one InvalidEventException");
    }

    @Test
    void an_interceptor_that_throws_costs_only_what_it_would_have_added() {
        WriteInterceptor broken = new WriteInterceptor() {
            @Override
            public Map<String, String> beforeWrite(EventEnvelope event) {
                throw new NoClassDefFoundError("gone");
            }

            @Override
            public void afterWrite(EventEnvelope event, @Nullable Throwable error) {
                throw new IllegalStateException("broken");
            }
        };

        try (CapturedLog log = CapturedLog.of(InterceptedWrites.class)) {
            writer.interceptedBy(broken)
                    .interceptedBy(adding("two", Map.of("b", "2")))
                    .write("t", "{}");
            tx.commit();

            assertThat(log.messages(Level.WARNING)).singleElement().asString().contains("before the write of event");
        }
        assertThat(told.get(0).headers()).isEqualTo(Map.of("b", "2"));
    }

    @Test
    void headers_that_cannot_be_stored_are_left_out() {
        for (Map<String, String> refused :
                List.of(Map.of("outbox-mine", "1"), Map.of("a", "\0"), Map.of("a", "x".repeat(70_000)))) {
            try (CapturedLog log = CapturedLog.of(InterceptedWrites.class)) {
                writer.interceptedBy(adding("one", refused)).write("t", "{}");

                assertThat(log.messages(Level.WARNING)).hasSize(1);
            }
        }
        tx.commit();

        assertThat(told).hasSize(3).allMatch(event -> event.headers().isEmpty());
    }

    @Test
    void committed_events_are_counted_by_their_type() {
        CountedMetrics counted = new CountedMetrics();
        OutboxWriter counting = writer.countedBy(counted.exporter());

        counting.write("t", "{}");
        assertThat(counted.count("recordEnqueued")).isZero();
        tx.commit();

        assertThat(counted.count("recordEnqueued")).isEqualTo(1);
        assertThat(counted.last("recordEnqueued")).containsExactly("t");
    }

    @Test
    void a_writer_that_nobody_counts_registers_nothing() {
        new OutboxWriter(tx, store).countedBy(MetricsExporter.NOOP).write("t", "{}");

        assertThat(tx.callbacks()).isZero();
    }
}
