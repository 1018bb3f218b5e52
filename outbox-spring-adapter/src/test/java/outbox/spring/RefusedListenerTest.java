package outbox.spring;

import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.scheduling.annotation.Async;
import outbox.BatchEventListener;
import outbox.EventEnvelope;
import outbox.jackson.JacksonPayloadCodec;
import outbox.relay.Meta;

import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

/** Methods that cannot be listeners, each with the reason that is reported at the start. */
@NullUnmarked
class RefusedListenerTest {

    static class Private {
        @SuppressWarnings("UnusedMethod") // the test needs it
        @OutboxListener("x")
        private void on() {}
    }

    static class Static {
        @OutboxListener("x")
        static void on() {}
    }

    static class Returning {
        @OutboxListener("x")
        String on() {
            return "";
        }
    }

    static class Elsewhere {
        @Async
        @OutboxListener("x")
        void on() {}
    }

    static class TwoPayloads {
        @OutboxListener("x")
        void on(String one, Object two) {}
    }

    static class Numbered {
        @OutboxListener("x")
        void on(int number) {}
    }

    static class NoType {
        @OutboxListener
        void on(String payload) {}
    }

    static class WrongHeader {
        @OutboxListener("x")
        void on(@Header("h") int header) {}
    }

    static class WrongAttempt {
        @OutboxListener("x")
        void on(@Attempt String attempt) {}
    }

    static class OfRelay {
        @OutboxListener("x")
        void on(Meta meta) {}
    }

    static class HalfBatch {
        @OutboxListener("x")
        void on(List<EventEnvelope> events, @Header("h") String header) {}
    }

    static class BatchReturning {
        @OutboxListener("x")
        String on(List<EventEnvelope> events) {
            return "";
        }
    }

    static class EmptyBatch {
        @OutboxListener(type = "x", batchSize = 0)
        BatchEventListener.Outcome on(List<EventEnvelope> events) {
            return BatchEventListener.Outcome.allDelivered();
        }
    }

    static class NoAttempts {
        @OutboxListener(type = "x", attempts = "0")
        void on() {}
    }

    static class WordAttempts {
        @OutboxListener(type = "x", attempts = "many")
        void on() {}
    }

    static class NoConcurrency {
        @OutboxListener(type = "x", concurrency = "0")
        void on() {}
    }

    static class NoTime {
        @OutboxListener(type = "x", timeLimit = "0s")
        void on() {}
    }

    static class WordTime {
        @OutboxListener(type = "x", timeLimit = "soon")
        void on() {}
    }

    static class LongTime {
        @OutboxListener(type = "x", timeLimit = "366d")
        void on() {}
    }

    static class NoBean {
        @OutboxListener(type = "x", retry = "none")
        void on() {}
    }

    static class WordRetry {
        @OutboxListener(type = "x", retry = "sometimes 5s")
        void on() {}
    }

    static class BackwardRetry {
        @OutboxListener(type = "x", retry = "exponential 5s..1s")
        void on() {}
    }

    static class UnitlessRetry {
        @OutboxListener(type = "x", retry = "fixed 5")
        void on() {}
    }

    @OutboxEvent(type = "x", aggregateId = "number")
    record WrongEvent(String id) {}

    static class WrongPayload {
        @OutboxListener
        void on(WrongEvent event) {}
    }

    @ParameterizedTest
    @CsvSource({
        "Private, Remove private",
        "Static, Remove static",
        "Returning, 'nothing, a DeliveryOutcome or a CompletionStage'",
        "Elsewhere, @Async",
        "TwoPayloads, two parameters",
        "Numbered, @Attempt",
        "NoType, names no event type",
        "WrongHeader, @Header",
        "WrongAttempt, @Attempt",
        "OfRelay, Relay",
        "HalfBatch, every parameter must be a list",
        "BatchReturning, BatchEventListener.Outcome",
        "EmptyBatch, batchSize must be at least 1: 0",
        "NoAttempts, attempts must be at least 1: 0",
        "WordAttempts, attempts must be a number of at least 1: many",
        "NoConcurrency, concurrency must be at least 1: 0",
        "NoTime, timeLimit must be positive",
        "WordTime, timeLimit",
        "LongTime, at most a year",
        "NoBean, there is no bean 'none'",
        "WordRetry, exponential 1s..10m",
        "BackwardRetry, baseDelayMs",
        "UnitlessRetry, unit",
        "WrongPayload, neither number() nor getNumber()",
    })
    void a_method_that_cannot_be_a_listener_is_refused_at_start_with_the_reason(String name, String reason)
            throws Exception {
        Class<?> type = Class.forName(getClass().getName() + "$" + name);

        Throwable refusal = catchThrowable(() -> start(type));

        assertThat(refusal)
                .isNotNull()
                .hasStackTraceContaining(type.getName() + ".on")
                .hasStackTraceContaining(reason);
    }

    private static void start(Class<?> type) {
        try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
            context.register(type);
            context.registerBean(
                    OutboxListenerMethods.class, () -> new OutboxListenerMethods(new JacksonPayloadCodec()));
            context.registerBean(
                    OutboxListeners.class,
                    () -> context.getBean(OutboxListenerMethods.class).listenersOf(Outbox.DEFAULT));
            context.refresh();
        }
    }
}
