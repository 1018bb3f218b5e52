package outbox.memory;

/** What becomes of an event that finds no room. */
public enum WhenFull {
    /** Its write is refused with a {@link MemoryFullException}; the caller's transaction can go on, or be rolled back. */
    REFUSE,
    /** It is dropped, counted and logged; its write looks like any other. For events that a reconciliation brings back. */
    DROP
}
