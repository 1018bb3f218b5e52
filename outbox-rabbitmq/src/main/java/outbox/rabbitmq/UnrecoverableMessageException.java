package outbox.rabbitmq;

import org.jspecify.annotations.Nullable;
import outbox.GiveUpException;

/**
 * The message can never be handled: its type is unknown or its data is wrong. It becomes a dead letter at once, with
 * this message as the reason.
 */
public class UnrecoverableMessageException extends GiveUpException {

    private static final long serialVersionUID = 1L;

    public UnrecoverableMessageException(String why) {
        super(why);
    }

    public UnrecoverableMessageException(String why, @Nullable Throwable cause) {
        super(why, cause);
    }
}
