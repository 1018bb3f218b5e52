package outbox.rabbitmq;

import outbox.OutboxException;

/** The broker refused one message, and that message alone: a failed attempt of its event, since a queue, a binding or room may be there next time. */
public final class PublishRefusedException extends OutboxException {

    /** How the broker refuses. */
    public enum Reason {
        /** No queue is bound for the routing key. */
        UNROUTABLE,
        /** A queue did not take it, such as a full one with {@code x-overflow=reject-publish}. */
        NACKED,
        /** There is no such exchange. */
        NO_EXCHANGE,
        /** The broker closed the channel because of it, such as for want of permission. */
        CHANNEL_CLOSED
    }

    private static final long serialVersionUID = 1L;

    private final Reason reason;

    PublishRefusedException(Reason reason, String message) {
        super(message, null);
        this.reason = reason;
    }

    public Reason reason() {
        return reason;
    }
}
