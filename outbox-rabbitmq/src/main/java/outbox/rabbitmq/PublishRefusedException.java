package outbox.rabbitmq;

import outbox.OutboxException;

/**
 * The broker refused one message. This is a failed attempt of that event only; a later attempt may succeed, after the
 * queue, the binding or free space is there.
 */
public final class PublishRefusedException extends OutboxException {

    /** Why the broker refused the message. */
    public enum Reason {
        /** No queue is bound for the routing key. */
        UNROUTABLE,
        /** A queue did not accept it, such as a full one with {@code x-overflow=reject-publish}. */
        NACKED,
        /** The exchange does not exist. */
        NO_EXCHANGE,
        /** The broker closed the channel because of the message, for example because a permission is missing. */
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
