package outbox.micrometer;

import io.micrometer.observation.transport.Kind;
import io.micrometer.observation.transport.ReceiverContext;
import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;

/** The observation context of a delivery attempt, for conventions, filters and handlers. */
public final class OutboxDeliveryContext extends ReceiverContext<EventEnvelope> {

    private final EventEnvelope event;
    private final String outbox;
    private final int attempt;

    OutboxDeliveryContext(EventEnvelope event, String outbox, int attempt, boolean continued) {
        super(continued ? OutboxDeliveryContext::header : (ignored, name) -> null, Kind.CONSUMER);
        this.event = event;
        this.outbox = outbox;
        this.attempt = attempt;
        setCarrier(event);
    }

    private static @Nullable String header(EventEnvelope event, String name) {
        return event.headers().get(name);
    }

    public EventEnvelope event() {
        return event;
    }

    public String outbox() {
        return outbox;
    }

    /** Counted from 1. */
    public int attempt() {
        return attempt;
    }
}
