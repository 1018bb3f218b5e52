package outbox.jdbc;

import org.jspecify.annotations.Nullable;

/**
 * An event with this id is already in the table. The write was undone, and the caller's transaction remains usable.
 * Exception: on PostgreSQL the transaction is aborted if the library generated the id and another event already
 * uses it.
 */
public final class DuplicateEventException extends EventStoreException {

    private static final long serialVersionUID = 1L;

    private final String eventId;

    DuplicateEventException(String eventId, TableName table, @Nullable Throwable cause) {
        super("Event " + eventId + " is already in " + table + ": event ids are unique", cause);
        this.eventId = eventId;
    }

    /**
     * Returns the id that exists. If several events were written at once, returns the ids of all of them or of
     * the duplicates.
     */
    public String eventId() {
        return eventId;
    }
}
