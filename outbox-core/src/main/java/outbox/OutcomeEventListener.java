package outbox;

/** A listener that returns what became of its event. Registered like any {@link EventListener}; what it throws means the same as there. */
@FunctionalInterface
public interface OutcomeEventListener extends EventListener {

    DeliveryOutcome deliver(EventEnvelope event) throws Exception;

    /** Throws what the outcome says. */
    @Override
    @SuppressWarnings("FunctionalInterfaceMethodChanged") // the same promise in other words
    default void onEvent(EventEnvelope event) throws Exception {
        DeliveryOutcome outcome = deliver(event);
        if (outcome == null) {
            throw new NullPointerException("The listener returned null instead of an outcome");
        }
        OutboxException failure = outcome.failure();
        if (failure != null) {
            throw failure;
        }
    }
}
