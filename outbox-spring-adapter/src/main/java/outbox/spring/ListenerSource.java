package outbox.spring;

/** Gives an outbox its listeners: annotated methods, transports. All sources of an outbox fill one {@link OutboxListeners}, in which each event has one listener. */
@FunctionalInterface
public interface ListenerSource {

    /** Adds the listeners of the outbox with this name; the only outbox of an application has the name {@link Outbox#DEFAULT}. Called once, before anything is delivered. */
    void addTo(String outbox, OutboxListeners listeners);
}
