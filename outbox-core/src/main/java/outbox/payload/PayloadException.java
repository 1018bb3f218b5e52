package outbox.payload;

import org.jspecify.annotations.Nullable;
import outbox.OutboxException;

/** A payload is not of the form that its type and version say. Its message does not repeat the payload. */
public final class PayloadException extends OutboxException {

    private static final long serialVersionUID = 1L;

    public PayloadException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
