package outbox.relay;

/**
 * The destination of a relay. If the method returns, the event is delivered. If it throws anything, the attempt
 * has failed. {@link outbox.GiveUpException} and {@link outbox.RetryLaterException} have the same meaning as
 * for a listener.
 *
 * <p>Delivery is at least once, so the effect should be idempotent by {@link Meta#eventId()}. Called on the threads
 * of the relay, which are interrupted after the dispatch timeout.
 */
@FunctionalInterface
public interface MessageDispatcher {

    void dispatch(DispatchedMessage message) throws Exception;
}
