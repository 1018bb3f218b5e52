package outbox;

/** The result of an attempt to change a pending event. */
public enum Change {
    /**
     * The event was changed in the caller's transaction. If the transaction commits, the previous version is
     * never delivered.
     */
    MADE,
    /** Nothing was changed: the event is being delivered, was delivered, or is dead. */
    TOO_LATE,
    /**
     * Nothing was changed: the event does not exist. It was cancelled or never written, or it was delivered and its
     * key is free again or its row was deleted.
     */
    NOT_FOUND
}
