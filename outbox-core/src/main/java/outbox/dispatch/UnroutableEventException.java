package outbox.dispatch;

import outbox.EventEnvelope;
import outbox.OutboxException;

/** No listener is registered for an event. It is DEAD at once: trying again would not find one. */
public final class UnroutableEventException extends OutboxException {

    private static final long serialVersionUID = 1L;

    private final String eventId;

    public UnroutableEventException(EventEnvelope event) {
        super(
                "No listener is registered for " + event.aggregateType() + ":" + event.eventType() + " (event "
                        + event.eventId() + "). Register one, then replay the event.",
                null);
        this.eventId = event.eventId();
    }

    public String eventId() {
        return eventId;
    }
}
