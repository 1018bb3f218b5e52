package outbox.micrometer;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.EventHeaders;
import outbox.WriteInterceptor;

import java.util.Map;

/**
 * Creates an observation for each written event, as a child of the current one. An event that already has a trace
 * context keeps it and is not observed, because it was created elsewhere.
 */
final class ObservedWrites implements WriteInterceptor {

    private final ObservationRegistry registry;
    private final String outbox;
    private final @Nullable ObservationConvention<OutboxWriteContext> convention;
    private final OpenObservations open = new OpenObservations();

    ObservedWrites(
            ObservationRegistry registry,
            String outbox,
            @Nullable ObservationConvention<OutboxWriteContext> convention) {
        this.registry = registry;
        this.outbox = outbox;
        this.convention = convention;
    }

    @Override
    public Map<String, String> beforeWrite(EventEnvelope event) {
        if (event.headers().containsKey(EventHeaders.TRACE_PARENT)) {
            return Map.of();
        }
        OutboxWriteContext context = new OutboxWriteContext(event, outbox);
        Observation observation =
                Observation.createNotStarted(convention, MessagingNames.WRITE, () -> context, registry);
        open.add(event, observation);
        observation.start();
        Map<String, String> headers = context.getCarrier();
        return headers == null ? Map.of() : headers;
    }

    @Override
    public void afterWrite(EventEnvelope event, @Nullable Throwable error) {
        open.end(event, error);
    }
}
