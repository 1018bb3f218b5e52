package outbox.spring;

import org.jspecify.annotations.Nullable;
import outbox.AsyncEventListener;
import outbox.BatchEventListener;
import outbox.DeliveryOutcome;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.OutcomeEventListener;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletionStage;

/** Listeners that call a method, one class for each supported form of the method. */
final class MethodListeners {

    private MethodListeners() {}

    record Plain(MethodCall call, @Nullable String listenerName) implements EventListener {

        @Override
        public void onEvent(EventEnvelope event) throws Exception {
            call.on(event);
        }
    }

    record Outcome(MethodCall call, @Nullable String listenerName) implements OutcomeEventListener {

        @Override
        public DeliveryOutcome deliver(EventEnvelope event) throws Exception {
            return (DeliveryOutcome)
                    Objects.requireNonNull(call.on(event), "The listener returned null instead of an outcome");
        }
    }

    record Async(MethodCall call, @Nullable String listenerName) implements AsyncEventListener {

        @Override
        public CompletionStage<?> onEventAsync(EventEnvelope event) throws Exception {
            return (CompletionStage<?>)
                    Objects.requireNonNull(call.on(event), "The listener returned null instead of a stage");
        }
    }

    /** @param answers whether the method returns an outcome */
    record Batch(MethodCall call, @Nullable String listenerName, int maxBatchSize, boolean answers)
            implements BatchEventListener {

        /** If the payload of one event cannot be read, only that event fails. */
        @Override
        public BatchEventListener.Outcome onEvents(List<EventEnvelope> events) throws Exception {
            BatchEventListener.Outcome outcome = BatchEventListener.Outcome.allDelivered();
            List<EventEnvelope> readable = new ArrayList<>();
            List<@Nullable Object[]> arguments = new ArrayList<>();
            for (EventEnvelope event : events) {
                try {
                    arguments.add(call.arguments(event));
                    readable.add(event);
                } catch (RuntimeException e) {
                    outcome = outcome.withFailed(event, e);
                }
            }
            return readable.isEmpty() ? outcome : with(outcome, readable, arguments);
        }

        private BatchEventListener.Outcome with(
                BatchEventListener.Outcome outcome, List<EventEnvelope> events, List<@Nullable Object[]> arguments) {
            BatchEventListener.Outcome all = outcome;
            Exception thrown = null;
            BatchEventListener.Outcome said = BatchEventListener.Outcome.allDelivered();
            try {
                Object returned = call.on(arguments);
                if (answers) {
                    said = (BatchEventListener.Outcome)
                            Objects.requireNonNull(returned, "The listener returned null instead of an outcome");
                }
            } catch (Exception e) {
                thrown = e;
            }
            for (EventEnvelope event : events) {
                Exception failure = thrown != null ? thrown : said.failures().get(event.eventId());
                all = failure == null ? all : all.withFailed(event, failure);
            }
            return all;
        }
    }
}
