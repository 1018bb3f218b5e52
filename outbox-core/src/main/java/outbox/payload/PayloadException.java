package outbox.payload;

import org.jspecify.annotations.Nullable;
import outbox.OutboxException;

/** A payload does not match the format of its type and version. The message does not contain the payload. */
public final class PayloadException extends OutboxException {

    private static final long serialVersionUID = 1L;

    public PayloadException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
