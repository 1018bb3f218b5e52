package outbox.dispatch;

import outbox.EventEnvelope;
import outbox.OutboxException;
import outbox.internal.EventRules;

/**
 * No listener is registered for an event, or the event was replayed to another listener by name. The event is DEAD
 * at once, because a retry would not find a listener either.
 */
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

    /** The event was replayed to a listener that its route does not have. */
    UnroutableEventException(EventEnvelope event, String replayedTo, String listener) {
        super(
                "Event " + event.eventId() + " was replayed to listener " + EventRules.show(replayedTo) + ", but "
                        + event.aggregateType() + ":" + event.eventType() + " has listener " + EventRules.show(listener)
                        + ". Replay it to that one, or to none by name.",
                null);
        this.eventId = event.eventId();
    }

    public String eventId() {
        return eventId;
    }
}
