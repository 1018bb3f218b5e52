package outbox.memory;

/** What the store does with an event for which it has no room. */
public enum WhenFull {
    /**
     * The write fails with a {@link MemoryFullException}. The caller's transaction can continue or be rolled back.
     */
    REFUSE,
    /**
     * The event is dropped, counted and logged, and the write succeeds. For events that a reconciliation
     * writes again.
     */
    DROP
}
