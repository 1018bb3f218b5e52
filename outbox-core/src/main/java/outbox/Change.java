package outbox;

/** Whether a change of a pending event came in time. */
public enum Change {
    /** It is part of the caller's transaction: once that commits, the event is never delivered as it was. */
    MADE,
    /** Nothing was changed: the event is being delivered, or was, or is dead. */
    TOO_LATE,
    /** Nothing was changed: there is no such event. It was cancelled or never written; or it was delivered, and its key is free or its row deleted. */
    NOT_FOUND
}
