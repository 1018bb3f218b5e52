package outbox;

import org.jspecify.annotations.Nullable;

/** Base class of exceptions for failures outside the outbox, such as in a database, a broker or a clock. */
public class OutboxException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    public OutboxException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
