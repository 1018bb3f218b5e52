package outbox;

import org.jspecify.annotations.Nullable;

/** The base of what the outbox throws when something outside it fails: a database, a broker, a clock. */
public class OutboxException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    public OutboxException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
