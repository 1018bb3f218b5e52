package outbox.memory;

import outbox.OutboxException;

/**
 * The store in memory has no room for the events of a write. It kept none of them. The caller's transaction
 * can continue.
 */
public final class MemoryFullException extends OutboxException {

    private static final long serialVersionUID = 1L;

    MemoryFullException(String message) {
        super(message, null);
    }
}
