package outbox.relay;

import outbox.OutboxException;

import java.util.List;

/** Several subscribers of an event failed: the first is the cause, the others are suppressed. */
public final class SubscribersFailedException extends OutboxException {

    private static final long serialVersionUID = 1L;

    SubscribersFailedException(List<Throwable> failures, int subscribers) {
        super(failures.size() + " of " + subscribers + " subscribers failed", failures.get(0));
        failures.stream().skip(1).forEach(this::addSuppressed);
    }
}
