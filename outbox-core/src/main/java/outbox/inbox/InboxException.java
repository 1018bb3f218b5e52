package outbox.inbox;

import org.jspecify.annotations.Nullable;
import outbox.OutboxException;

/**
 * The inbox failed: its database is unavailable, another copy of the event is still being handled, or it is unknown
 * whether the commit took effect. The event is not the cause and must be delivered again. The inbox then knows
 * whether it was handled.
 */
public class InboxException extends OutboxException {

    private static final long serialVersionUID = 1L;

    public InboxException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
