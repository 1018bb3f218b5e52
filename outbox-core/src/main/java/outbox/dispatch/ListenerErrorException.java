package outbox.dispatch;

import outbox.OutboxException;

/** Carries an {@link Error} of a listener to interceptors, which take an {@link Exception}. */
public final class ListenerErrorException extends OutboxException {

    private static final long serialVersionUID = 1L;

    ListenerErrorException(Throwable error) {
        super("The listener ended with " + error.getClass().getName(), error);
    }
}
