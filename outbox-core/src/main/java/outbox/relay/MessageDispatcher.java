package outbox.relay;

/**
 * Where a relay delivers to, and the boundary of errors: returning means delivered, anything thrown is a failed attempt. {@link outbox.GiveUpException} and
 * {@link outbox.RetryLaterException} say more, as for a listener.
 *
 * <p>At least once: the effect should be idempotent by {@link Meta#eventId()}. Called on the threads of the relay, and interrupted when the dispatch timeout is over.
 */
@FunctionalInterface
public interface MessageDispatcher {

    void dispatch(DispatchedMessage message) throws Exception;
}
