package outbox.dispatch;

import outbox.OutboxException;

/** Passes an {@link Error} of a listener to interceptors, which accept only an {@link Exception}. */
public final class ListenerErrorException extends OutboxException {

    private static final long serialVersionUID = 1L;

    ListenerErrorException(Throwable error) {
        super("The listener ended with " + error.getClass().getName(), error);
    }
}
