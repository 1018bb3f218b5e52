package outbox.spring;

/**
 * Supplies listeners for an outbox, for example annotated methods or transports. All sources of an outbox add to the
 * same {@link OutboxListeners}, in which each event has one listener.
 */
@FunctionalInterface
public interface ListenerSource {

    /**
     * Adds the listeners of the outbox with this name. If an application has a single outbox, its name is
     * {@link Outbox#DEFAULT}. Called once, before the first event is delivered.
     */
    void addTo(String outbox, OutboxListeners listeners);
}
