package outbox.memory;

import outbox.OutboxException;

/** The store in memory has no room for the events of a write. None of them was kept, and the caller's transaction can go on. */
public final class MemoryFullException extends OutboxException {

    private static final long serialVersionUID = 1L;

    MemoryFullException(String message) {
        super(message, null);
    }
}
