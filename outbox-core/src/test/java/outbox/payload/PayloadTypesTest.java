package outbox.payload;

import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.GiveUpException;
import outbox.RetryLaterException;
import outbox.admin.EventAdministration.Replay;
import outbox.model.OutboxEvent;
import outbox.util.JsonCodec;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class PayloadTypesTest {

    /** Writes a number as its decimal text. */
    private static final PayloadCodec NUMBERS = new PayloadCodec() {
        @Override
        public String write(Object value) {
            return value.toString();
        }

        @Override
        public <T> T read(String payload, Class<T> type) {
            try {
                return type.cast(type == Integer.class ? (Object) Integer.valueOf(payload) : Long.valueOf(payload));
            } catch (NumberFormatException e) {
                throw new PayloadException("no number", e);
            }
        }
    };

    private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 10); // overflows during the test
    private final PayloadTypes types = PayloadTypes.builder(NUMBERS)
            .type("T", 3, Long.class)
            .upcast("T", 2, Long.class, old -> old * 10)
            .upcast("T", 1, Integer.class, old -> old + 1L)
            .nanoClock(nanos::get)
            .build();
    private final EventListener typed = types.listener("T", Long.class, (payload, event) -> {});

    private static EventEnvelope event(int version, String payload) {
        return EventEnvelope.builder("T")
                .schemaVersion(version)
                .payloadJson(payload)
                .build();
    }

    @Test
    void every_version_becomes_the_current_one() throws Exception {
        List<Long> received = new ArrayList<>();
        var listener = types.listener("T", Long.class, (payload, event) -> received.add(payload));

        listener.onEvent(event(1, "4"));
        listener.onEvent(event(2, "4"));
        listener.onEvent(event(3, "4"));

        assertThat(received).containsExactly(50L, 40L, 4L);
        assertThat(types.read(event(1, "4"), Number.class)).isEqualTo(50L);
    }

    @Test
    void an_event_is_made_in_the_current_version() {
        EventEnvelope event = types.event("T", 7L).aggregateId("a").build();

        assertThat(event.schemaVersion()).isEqualTo(3);
        assertThat(event.payloadJson()).isEqualTo("7");
        assertThatThrownBy(() -> types.event("T", 7)).hasMessageContaining("java.lang.Integer");
        assertThatThrownBy(() -> types.event("U", 7L)).hasMessageContaining("'U'");
    }

    @Test
    void a_newer_version_waits_uncounted_from_its_first_look_and_again_after_a_replay() {
        EventEnvelope old = EventEnvelope.builder("T")
                .schemaVersion(4)
                .occurredAt(Instant.now().minus(Duration.ofDays(300)))
                .payloadJson("1")
                .build();

        assertWaits(old);
        nanos.addAndGet(Duration.ofMinutes(59).toNanos());
        assertWaits(old);
        nanos.addAndGet(Duration.ofMinutes(1).toNanos());
        assertIsGivenUp(old);
        assertIsGivenUp(old); // delivered again because the outcome could not be written

        EventEnvelope replayed = EventEnvelope.restore(new OutboxEvent(
                old.eventId(),
                "T",
                null,
                null,
                null,
                "1",
                Replay.dead("request", Instant.now()).mark(JsonCodec.toJson(old.headers())),
                0,
                Instant.now()));
        assertWaits(replayed);
        nanos.addAndGet(Duration.ofMinutes(60).toNanos());
        assertIsGivenUp(replayed);
    }

    private void assertWaits(EventEnvelope event) {
        assertThatThrownBy(() -> typed.onEvent(event))
                .isInstanceOfSatisfying(
                        RetryLaterException.class,
                        later -> assertThat(later.isCounted()).isFalse());
    }

    private void assertIsGivenUp(EventEnvelope event) {
        assertThatThrownBy(() -> typed.onEvent(event)).isInstanceOf(GiveUpException.class);
    }

    @Test
    void what_is_remembered_of_newer_versions_is_bounded_and_more_events_wait_longer() {
        EventEnvelope first = event(4, "1");
        EventEnvelope beyond = event(4, "1");
        assertWaits(first);
        for (int i = 1; i < NewerEvents.MAX_EVENTS; i++) {
            assertWaits(event(4, "1"));
        }
        assertWaits(beyond);

        nanos.addAndGet(Duration.ofMinutes(60).toNanos());
        assertIsGivenUp(first);
        assertWaits(beyond);

        nanos.addAndGet(Duration.ofMinutes(11).toNanos());
        assertWaits(beyond); // takes the slot of the first event
        nanos.addAndGet(Duration.ofMinutes(60).toNanos());
        assertIsGivenUp(beyond);
    }

    @Test
    void what_cannot_be_read_is_given_up_and_what_a_listener_throws_is_not() {
        var listener = types.listener("T", Long.class, (payload, event) -> {
            throw new IllegalStateException("its own");
        });

        assertThatThrownBy(() -> listener.onEvent(event(3, "x"))).isInstanceOf(GiveUpException.class);
        assertThatThrownBy(() -> listener.onEvent(event(3, "1")))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("its own");
    }

    @Test
    void an_upcaster_that_makes_something_else_is_told() {
        PayloadTypes wrong = PayloadTypes.builder(NUMBERS)
                .type("T", 2, Long.class)
                .upcast("T", 1, Integer.class, old -> "text")
                .build();

        assertThatThrownBy(() -> wrong.read(event(1, "4"), Long.class))
                .isInstanceOf(PayloadException.class)
                .hasMessageContaining("java.lang.String");
    }

    @Test
    void gaps_and_repetitions_are_refused() {
        assertThatThrownBy(() -> PayloadTypes.builder(NUMBERS)
                        .type("T", 3, Long.class)
                        .upcast("T", 1, Long.class, old -> old)
                        .build())
                .hasMessageContaining("nothing of version 2");
        assertThatThrownBy(() -> PayloadTypes.builder(NUMBERS)
                        .upcast("T", 1, Long.class, old -> old)
                        .build())
                .hasMessageContaining("no type of version 2");
        assertThatThrownBy(() -> PayloadTypes.builder(NUMBERS)
                        .type("T", 1, Long.class)
                        .type("T", 2, Long.class)
                        .build())
                .hasMessageContaining("no upcaster");
        assertThatThrownBy(() ->
                        PayloadTypes.builder(NUMBERS).type("T", Long.class).type("T", Long.class))
                .hasMessageContaining("twice");
        assertThatThrownBy(() -> types.listener("T", String.class, (payload, event) -> {}))
                .hasMessageContaining("java.lang.Long");
    }

    @Test
    void a_version_before_the_first_that_is_known_is_not_read_as_that() {
        PayloadTypes later =
                PayloadTypes.builder(NUMBERS).type("T", 2, Long.class).build();

        assertThatThrownBy(() -> later.read(event(1, "4"), Long.class))
                .isInstanceOf(PayloadException.class)
                .hasMessageContaining("Version 1");
    }
}
