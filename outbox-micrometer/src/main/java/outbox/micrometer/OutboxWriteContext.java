package outbox.micrometer;

import io.micrometer.observation.transport.Kind;
import io.micrometer.observation.transport.SenderContext;
import outbox.EventEnvelope;

import java.util.LinkedHashMap;
import java.util.Map;

/** A write under observation; what the tracer puts into its carrier becomes headers of the event. For observation conventions, filters and handlers. */
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

    /** Baggage is left out: it would store in the table what was meant for a request. */
    private static void put(Map<String, String> headers, String name, String value) {
        if (!BAGGAGE.equalsIgnoreCase(name)) {
            headers.put(name, value);
        }
    }

    /** As it is given to the writer. */
    public EventEnvelope event() {
        return event;
    }

    public String outbox() {
        return outbox;
    }
}
