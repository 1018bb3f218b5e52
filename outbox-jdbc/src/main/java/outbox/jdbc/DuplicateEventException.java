package outbox.jdbc;

import org.jspecify.annotations.Nullable;

/**
 * An event with this id is already in the table. Nothing of the write was kept, and the caller's transaction can go on; on PostgreSQL not if the library made the id and somebody else has
 * used it.
 */
public final class DuplicateEventException extends EventStoreException {

    private static final long serialVersionUID = 1L;

    private final String eventId;

    DuplicateEventException(String eventId, TableName table, @Nullable Throwable cause) {
        super("Event " + eventId + " is already in " + table + ": event ids are unique", cause);
        this.eventId = eventId;
    }

    /** The id that exists, or the ids among which it is, when several were written at once. */
    public String eventId() {
        return eventId;
    }
}
