package outbox;

/**
 * A listener that returns the outcome of the delivery. It is registered like any {@link EventListener}, and
 * exceptions have the same meaning.
 */
@FunctionalInterface
public interface OutcomeEventListener extends EventListener {

    DeliveryOutcome deliver(EventEnvelope event) throws Exception;

    /** Throws the failure of the outcome, if there is one. */
    @Override
    @SuppressWarnings("FunctionalInterfaceMethodChanged") // deliver has the same contract, with a result
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
