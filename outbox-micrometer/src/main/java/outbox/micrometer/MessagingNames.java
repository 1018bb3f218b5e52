package outbox.micrometer;

import io.micrometer.common.KeyValues;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;
import outbox.EventEnvelope;

/**
 * Names according to the OpenTelemetry messaging conventions, the same as in {@code OutboxTracing}. Values that the
 * writer of an event chooses have high cardinality and must not become labels.
 */
final class MessagingNames {

    static final ObservationConvention<OutboxWriteContext> WRITE = new Write();
    static final ObservationConvention<OutboxDeliveryContext> DELIVERY = new Delivery();

    private MessagingNames() {}

    static KeyValues low(String outbox, String operation) {
        return KeyValues.of("messaging.system", "outbox", "messaging.operation.name", operation, "outbox.name", outbox);
    }

    private static KeyValues high(EventEnvelope event) {
        return KeyValues.of(
                "messaging.destination.name",
                event.eventType(),
                "messaging.message.id",
                event.eventId(),
                "messaging.message.body.size",
                Integer.toString(event.payloadSize()));
    }

    private static final class Write implements ObservationConvention<OutboxWriteContext> {

        @Override
        public String getName() {
            return "outbox.create";
        }

        @Override
        public String getContextualName(OutboxWriteContext context) {
            return "create " + context.event().eventType();
        }

        @Override
        public KeyValues getLowCardinalityKeyValues(OutboxWriteContext context) {
            return low(context.outbox(), "create");
        }

        @Override
        public KeyValues getHighCardinalityKeyValues(OutboxWriteContext context) {
            return high(context.event());
        }

        @Override
        public boolean supportsContext(Observation.Context context) {
            return context instanceof OutboxWriteContext;
        }
    }

    private static final class Delivery implements ObservationConvention<OutboxDeliveryContext> {

        @Override
        public String getName() {
            return "outbox.process";
        }

        @Override
        public String getContextualName(OutboxDeliveryContext context) {
            return "process " + context.event().eventType();
        }

        @Override
        public KeyValues getLowCardinalityKeyValues(OutboxDeliveryContext context) {
            return low(context.outbox(), "process");
        }

        @Override
        public KeyValues getHighCardinalityKeyValues(OutboxDeliveryContext context) {
            return high(context.event()).and("outbox.attempt", Integer.toString(context.attempt()));
        }

        @Override
        public boolean supportsContext(Observation.Context context) {
            return context instanceof OutboxDeliveryContext;
        }
    }
}
