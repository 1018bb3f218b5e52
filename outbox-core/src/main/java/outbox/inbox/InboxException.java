package outbox.inbox;

import org.jspecify.annotations.Nullable;
import outbox.OutboxException;

/**
 * The inbox could not do its part: its database is away, another copy of the event is still being handled, or nobody knows whether the commit took effect. It says nothing about the
 * event, which is to come again; then the inbox knows whether it was handled.
 */
public class InboxException extends OutboxException {

    private static final long serialVersionUID = 1L;

    public InboxException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
