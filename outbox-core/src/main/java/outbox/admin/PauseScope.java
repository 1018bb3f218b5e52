package outbox.admin;

/** What a pause stops. */
public enum PauseScope {
    /** Every event of the outbox. */
    OUTBOX,
    /** Events of one type, with any aggregate type. */
    TYPE,
    /**
     * Events of one listener, by its name: {@link outbox.EventListener#listenerName}, or
     * {@code aggregateType:eventType}.
     */
    LISTENER
}
