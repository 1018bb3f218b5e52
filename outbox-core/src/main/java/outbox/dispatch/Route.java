package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.EventHeaders;
import outbox.EventListener;
import outbox.registry.ListenerRegistry;

/**
 * The listener of one event. It is looked up once per delivery, so that all decisions are about the same listener.
 */
final class Route {

    private final EventEnvelope event;
    private final @Nullable EventListener registered; // null if there is none, or if the registry failed
    private final @Nullable Throwable failure; // failure of the registry
    private volatile @Nullable String name; // computed by the first thread that needs it

    private Route(EventEnvelope event, @Nullable EventListener registered, @Nullable Throwable failure) {
        this.event = event;
        this.registered = registered;
        this.failure = failure;
    }

    /**
     * Returns the route of the delivery. The first call that finds a listener keeps it: an event may wait while its
     * listener is being registered.
     */
    static Route of(Delivery delivery, ListenerRegistry registry) {
        Route route = delivery.route();
        if (route == null) {
            route = lookUp(delivery.envelope(), registry);
            if (route.registered != null) {
                delivery.setRoute(route);
            }
        }
        return route;
    }

    private static Route lookUp(EventEnvelope event, ListenerRegistry registry) {
        try {
            return new Route(event, registry.listenerFor(event.aggregateType(), event.eventType()), null);
        } catch (Throwable e) { // from user code; the run reports it
            return new Route(event, null, e);
        }
    }

    /** Whether there is a listener. Also true if the registry failed, so that the run reports the failure. */
    boolean isKnown() {
        return registered != null || failure != null;
    }

    /** Returns the listener, so that the caller can check its kind, or null if {@link #require} will throw. */
    @Nullable
    EventListener listener() {
        try {
            return registered != null && isForEvent(registered) ? registered : null;
        } catch (Throwable e) { // from user code
            return null;
        }
    }

    /** Returns the listener that must receive the event. Throws if there is none, or if the registry failed. */
    EventListener require() {
        if (failure instanceof Error error) {
            throw error;
        } else if (failure != null) {
            throw failure instanceof RuntimeException e ? e : new IllegalStateException(failure);
        }
        if (registered == null) {
            throw new UnroutableEventException(event);
        }
        String replayedTo = event.headers().get(EventHeaders.REPLAY_TO);
        if (replayedTo != null && !isForEvent(registered)) {
            throw new UnroutableEventException(event, replayedTo, nameOf(registered));
        }
        return registered;
    }

    /**
     * Whether the listener may receive the event. An event that was replayed to a named listener is only
     * for that listener.
     */
    private boolean isForEvent(EventListener listener) {
        String replayedTo = event.headers().get(EventHeaders.REPLAY_TO);
        return replayedTo == null || replayedTo.equals(nameOf(listener));
    }

    /**
     * Returns the name of the listener for rules, limits and pauses. If the listener has no name, or fails to return
     * it, this is the name of the route.
     */
    String name() {
        String known = name;
        if (known == null) {
            known = lookUpName();
            name = known;
        }
        return known;
    }

    private String lookUpName() {
        try {
            EventListener listener = listener();
            return listener == null ? nameOf(event) : nameOf(listener);
        } catch (Throwable e) { // from user code; the event must still be processed
            return nameOf(event);
        }
    }

    private String nameOf(EventListener listener) {
        String own = listener.listenerName();
        return own == null ? nameOf(event) : own;
    }

    /** Returns the name of the route itself. */
    static String nameOf(EventEnvelope event) {
        return event.aggregateType() + ":" + event.eventType();
    }
}
