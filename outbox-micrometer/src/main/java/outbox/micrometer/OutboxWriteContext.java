package outbox.micrometer;

import io.micrometer.observation.transport.Kind;
import io.micrometer.observation.transport.SenderContext;
import outbox.EventEnvelope;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The observation context of a write, for conventions, filters and handlers. Entries that the tracer adds to the
 * carrier become headers of the event.
 */
public final class OutboxWriteContext extends SenderContext<Map<String, String>> {

    private static final String BAGGAGE = "baggage";

    private final EventEnvelope event;
    private final String outbox;

    OutboxWriteContext(EventEnvelope event, String outbox) {
        super(OutboxWriteContext::put, Kind.PRODUCER);
        this.event = event;
        this.outbox = outbox;
        setCarrier(new LinkedHashMap<>());
    }

    /** Skips baggage, which is meant for a request and must not be stored in the table. */
    private static void put(Map<String, String> headers, String name, String value) {
        if (!BAGGAGE.equalsIgnoreCase(name)) {
            headers.put(name, value);
        }
    }

    /** Returns the event as the caller passed it to the writer. */
    public EventEnvelope event() {
        return event;
    }

    public String outbox() {
        return outbox;
    }
}
