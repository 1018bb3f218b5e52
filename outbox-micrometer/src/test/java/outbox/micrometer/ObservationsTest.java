package outbox.micrometer;

import io.micrometer.common.KeyValue;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.transport.ReceiverContext;
import io.micrometer.observation.transport.SenderContext;
import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;
import outbox.WriteInterceptor;
import outbox.dispatch.EventInterceptor;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

import static org.assertj.core.api.Assertions.assertThat;

class ObservationsTest {

    private static final String TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    private final ObservationRegistry registry = ObservationRegistry.create();
    private final Tracer tracer = new Tracer();
    private final OutboxObservations observations = OutboxObservations.of(registry, "orders");

    ObservationsTest() {
        registry.observationConfig().observationHandler(tracer);
    }

    private static EventEnvelope event() {
        return EventEnvelope.ofJson("order.placed", "{\"a\":1}");
    }

    @Test
    void a_write_is_observed_and_the_event_takes_the_trace_along_but_no_baggage() {
        EventEnvelope event = event();
        WriteInterceptor writes = observations.writes();

        Map<String, String> headers = writes.beforeWrite(event);
        writes.afterWrite(event, null);

        assertThat(headers).containsOnly(Map.entry("traceparent", TRACE));
        Observation.Context stopped = tracer.stopped.get(0);
        assertThat(stopped.getName()).isEqualTo("outbox.create");
        assertThat(stopped.getContextualName()).isEqualTo("create order.placed");
        assertThat(values(stopped.getHighCardinalityKeyValues()))
                .containsEntry("messaging.message.id", event.eventId())
                .containsEntry("messaging.message.body.size", "7");
    }

    @Test
    void an_event_that_brings_a_trace_is_not_observed_when_it_is_written() {
        EventEnvelope event = EventEnvelope.builder("order.placed")
                .header("traceparent", TRACE)
                .payloadJson("{}")
                .build();
        WriteInterceptor writes = observations.writes();

        assertThat(writes.beforeWrite(event)).isEmpty();
        writes.afterWrite(event, null);

        assertThat(tracer.stopped).isEmpty();
    }

    @Test
    void a_delivery_continues_the_trace_of_the_write_and_is_current_in_the_listener() throws Exception {
        EventEnvelope event = EventEnvelope.builder("order.placed")
                .header("traceparent", TRACE)
                .payloadJson("{}")
                .build();
        EventInterceptor deliveries = observations.deliveries();

        deliveries.beforeDispatch(event, 3);
        try (AutoCloseable scope = Objects.requireNonNull(deliveries.enterListener(List.of(event)))) {
            assertThat(scope).isNotNull();
            assertThat(registry.getCurrentObservation()).isNotNull();
        }
        assertThat(registry.getCurrentObservation()).isNull();
        deliveries.afterDispatch(event, new IllegalStateException("why"));

        assertThat(tracer.received).containsExactly(TRACE);
        Observation.Context stopped = tracer.stopped.get(0);
        assertThat(stopped.getContextualName()).isEqualTo("process order.placed");
        assertThat(stopped.getError()).isInstanceOf(IllegalStateException.class);
        assertThat(values(stopped.getHighCardinalityKeyValues())).containsEntry("outbox.attempt", "3");
    }

    @Test
    void deliveries_may_begin_traces_of_their_own() throws Exception {
        EventEnvelope event = EventEnvelope.builder("order.placed")
                .header("traceparent", TRACE)
                .payloadJson("{}")
                .build();

        observations.withNewTraces().deliveries().beforeDispatch(event, 1);

        assertThat(tracer.received).containsExactly("none");
    }

    @Test
    void a_call_with_several_events_is_observed_besides_them() throws Exception {
        EventEnvelope one = event();
        EventEnvelope other = event();
        EventInterceptor deliveries = observations.deliveries();
        deliveries.beforeDispatch(one, 1);
        deliveries.beforeDispatch(other, 1);

        Objects.requireNonNull(deliveries.enterListener(List.of(one, other))).close();

        assertThat(tracer.stopped)
                .singleElement()
                .satisfies(batch -> assertThat(batch.getContextualName()).isEqualTo("process_batch order.placed"));
    }

    @Test
    void what_users_choose_is_no_label() throws Exception {
        SimpleMeterRegistry meters = new SimpleMeterRegistry();
        registry.observationConfig().observationHandler(new DefaultMeterObservationHandler(meters));
        EventEnvelope event = event();
        WriteInterceptor writes = observations.writes();
        EventInterceptor deliveries = observations.deliveries();

        writes.beforeWrite(event);
        writes.afterWrite(event, null);
        deliveries.beforeDispatch(event, 1);
        deliveries.afterDispatch(event, null);

        assertThat(meters.get("outbox.create").timer().getId().getTags())
                .extracting(Tag::getKey)
                .containsExactlyInAnyOrder("error", "messaging.system", "messaging.operation.name", "outbox.name");
        assertThat(meters.get("outbox.process").timer().count()).isEqualTo(1);
    }

    @Test
    void a_handler_that_fails_does_not_fail_the_delivery() throws Exception {
        registry.observationConfig().observationHandler(new ObservationHandler<Observation.Context>() {
            @Override
            public void onStart(Observation.Context context) {
                throw new IllegalStateException("broken");
            }

            @Override
            public boolean supportsContext(Observation.Context context) {
                return true;
            }
        });
        EventEnvelope event = event();
        EventInterceptor deliveries = observations.deliveries();

        deliveries.beforeDispatch(event, 1);

        assertThat(deliveries.enterListener(List.of(event))).isNull();
        deliveries.afterDispatch(event, null);
    }

    private static Map<String, String> values(Iterable<KeyValue> keyValues) {
        Map<String, String> values = new HashMap<>();
        keyValues.forEach(keyValue -> values.put(keyValue.getKey(), keyValue.getValue()));
        return values;
    }

    /** Does what a tracer does with sender and receiver contexts. */
    private static final class Tracer implements ObservationHandler<Observation.Context> {

        private final List<Observation.Context> stopped = new ArrayList<>();
        private final List<String> received = new ArrayList<>();

        @Override
        public void onStart(Observation.Context context) {
            if (context instanceof SenderContext<?> sender) {
                inject(sender);
            } else if (context instanceof ReceiverContext<?> receiver) {
                extract(receiver);
            }
        }

        private static <C> void inject(SenderContext<C> sender) {
            C carrier = sender.getCarrier();
            sender.getSetter().set(carrier, "traceparent", TRACE);
            sender.getSetter().set(carrier, "baggage", "user=7");
        }

        private <C> void extract(ReceiverContext<C> receiver) {
            C carrier = Objects.requireNonNull(receiver.getCarrier(), "carrier"); // Brave's B3 needs one
            String trace = receiver.getGetter().get(carrier, "traceparent");
            received.add(trace == null ? "none" : trace);
        }

        @Override
        public void onStop(Observation.Context context) {
            stopped.add(context);
        }

        @Override
        public boolean supportsContext(Observation.Context context) {
            return true;
        }
    }
}
