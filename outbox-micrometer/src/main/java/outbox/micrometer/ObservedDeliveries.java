package outbox.micrometer;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.transport.Kind;
import io.micrometer.observation.transport.ReceiverContext;
import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.dispatch.EventInterceptor;
import outbox.internal.text.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Creates an observation for each delivery attempt. A call with several events gets one more, because only one
 * observation can be current on the listener's thread.
 */
final class ObservedDeliveries implements EventInterceptor {

    private static final Logger LOG = SafeLogger.of(ObservedDeliveries.class);

    private final ObservationRegistry registry;
    private final String outbox;
    private final boolean continued;
    private final @Nullable ObservationConvention<OutboxDeliveryContext> convention;
    private final AtomicBoolean told = new AtomicBoolean(); // whether a failing handler was logged
    private final OpenObservations open = new OpenObservations();

    ObservedDeliveries(
            ObservationRegistry registry,
            String outbox,
            boolean continued,
            @Nullable ObservationConvention<OutboxDeliveryContext> convention) {
        this.registry = registry;
        this.outbox = outbox;
        this.continued = continued;
        this.convention = convention;
    }

    @Override
    public void beforeDispatch(EventEnvelope event, int attempt) {
        try {
            OutboxDeliveryContext context = new OutboxDeliveryContext(event, outbox, attempt, continued);
            Observation observation =
                    Observation.createNotStarted(convention, MessagingNames.DELIVERY, () -> context, registry);
            observation.start();
            open.add(event, observation);
        } catch (Throwable e) {
            failed(e);
        }
    }

    @Override
    public @Nullable AutoCloseable enterListener(List<EventEnvelope> events) {
        try {
            return events.size() > 1 ? enterBatch(events) : enter(events.get(0));
        } catch (Throwable e) {
            failed(e);
            return null;
        }
    }

    private @Nullable AutoCloseable enter(EventEnvelope event) {
        Observation observation = open.get(event);
        return observation == null ? null : observation.openScope();
    }

    private AutoCloseable enterBatch(List<EventEnvelope> events) {
        String first = events.get(0).eventType();
        boolean one = events.stream().allMatch(event -> event.eventType().equals(first));
        ReceiverContext<List<EventEnvelope>> context = new ReceiverContext<>((ignored, name) -> null, Kind.CONSUMER);
        context.setCarrier(events); // not read, but some tracers require a carrier
        Observation batch = Observation.createNotStarted("outbox.process.batch", () -> context, registry)
                .contextualName(one ? "process_batch " + first : "process_batch")
                .lowCardinalityKeyValues(MessagingNames.low(outbox, "process_batch"))
                .highCardinalityKeyValue("messaging.batch.message_count", Integer.toString(events.size()))
                .start();
        Observation.Scope scope = batch.openScope();
        return () -> {
            scope.close();
            batch.stop();
        };
    }

    @Override
    public void afterDispatch(EventEnvelope event, @Nullable Exception error) {
        open.end(event, error);
    }

    /** Logs the failure, once as a warning. A failing observation must not fail the delivery. */
    private void failed(Throwable why) {
        Level level = told.compareAndSet(false, true) ? Level.WARNING : Level.DEBUG;
        LOG.log(level, "An observation failed; the delivery continues without it", why);
    }
}
