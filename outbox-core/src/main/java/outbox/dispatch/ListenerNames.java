package outbox.dispatch;

import outbox.EventEnvelope;
import outbox.EventListener;

/** The names by which rules, limits and pauses know listeners: their own, or that of their route. */
final class ListenerNames {

    private final DeliveryChain chain;

    ListenerNames(DeliveryChain chain) {
        this.chain = chain;
    }

    /** The listener's own name, or its route where it has none, fails to tell, or is missing. */
    String of(EventEnvelope event) {
        try {
            EventListener listener = chain.listenerOf(event);
            return listener == null ? route(event) : of(event, listener);
        } catch (Throwable e) { // of the user's code; the event must go on
            return route(event);
        }
    }

    /** The listener's own name, or its route where it has none. */
    static String of(EventEnvelope event, EventListener listener) {
        String own = listener.listenerName();
        return own == null ? route(event) : own;
    }

    static String route(EventEnvelope event) {
        return event.aggregateType() + ":" + event.eventType();
    }
}
