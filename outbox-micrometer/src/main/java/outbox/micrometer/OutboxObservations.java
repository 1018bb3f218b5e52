package outbox.micrometer;

import io.micrometer.observation.ObservationConvention;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;
import outbox.WriteInterceptor;
import outbox.dispatch.EventInterceptor;

import java.util.Objects;

/**
 * Observes writes and deliveries through Micrometer's Observation API. With a tracer behind the registry the trace of
 * a write goes on in the listener: its context travels in the headers of the event, in whatever format the tracer is
 * configured for.
 *
 * <pre>{@code
 * OutboxObservations observations = OutboxObservations.of(registry, "orders");
 * OutboxWriter writer = new OutboxWriter(txContext, store, hook).interceptedBy(observations.writes());
 * OutboxDispatcher.builder().interceptor(observations.deliveries())…
 * }</pre>
 *
 * <p>A write is {@code outbox.create}, an attempt to deliver {@code outbox.process}, a call with several events
 * {@code outbox.process.batch}. Event types and ids are never labels of a meter, only attributes of spans. Immutable
 * and thread-safe. Use this or {@code OutboxTracing}, not both.
 */
public final class OutboxObservations {

    private final ObservationRegistry registry;
    private final String outbox;
    private final boolean continued;
    private final @Nullable ObservationConvention<OutboxWriteContext> writes;
    private final @Nullable ObservationConvention<OutboxDeliveryContext> deliveries;

    private OutboxObservations(
            ObservationRegistry registry,
            String outbox,
            boolean continued,
            @Nullable ObservationConvention<OutboxWriteContext> writes,
            @Nullable ObservationConvention<OutboxDeliveryContext> deliveries) {
        this.registry = registry;
        this.outbox = outbox;
        this.continued = continued;
        this.writes = writes;
        this.deliveries = deliveries;
    }

    /** Deliveries continue the trace of the write, as its children. */
    public static OutboxObservations of(ObservationRegistry registry, String outbox) {
        Objects.requireNonNull(registry, "registry");
        Objects.requireNonNull(outbox, "outbox");
        return new OutboxObservations(registry, outbox, true, null, null);
    }

    /**
     * Returns a copy in which each delivery starts a new trace, so that a retry after days does not create a trace
     * that lasts days.
     */
    public OutboxObservations withNewTraces() {
        return new OutboxObservations(registry, outbox, false, writes, deliveries);
    }

    /** Returns a copy with other names and attributes for writes. */
    public OutboxObservations namingWrites(ObservationConvention<OutboxWriteContext> convention) {
        return new OutboxObservations(
                registry, outbox, continued, Objects.requireNonNull(convention, "convention"), deliveries);
    }

    /** Returns a copy with other names and attributes for deliveries. */
    public OutboxObservations namingDeliveries(ObservationConvention<OutboxDeliveryContext> convention) {
        return new OutboxObservations(
                registry, outbox, continued, writes, Objects.requireNonNull(convention, "convention"));
    }

    /** Returns the interceptor for {@link outbox.OutboxWriter#interceptedBy}. */
    public WriteInterceptor writes() {
        return new ObservedWrites(registry, outbox, writes);
    }

    /**
     * Returns the interceptor for {@link outbox.dispatch.OutboxDispatcher.Builder#interceptor}. Register it first, so
     * that it also observes refusals by other interceptors. Use one per dispatcher.
     */
    public EventInterceptor deliveries() {
        return new ObservedDeliveries(registry, outbox, continued, deliveries);
    }
}
