package outbox.order;

/** What happens to an aggregate when one of its events becomes DEAD. */
public enum WhenDead {
    /** Later events of the aggregate wait until the dead one is replayed, skipped or discarded. */
    BLOCK,
    /** Later events continue. The dead event stays in the table for an operator. */
    SKIP,
    /**
     * Later events are parked with it: they become DEAD too, with that reason, and are replayed together in order.
     */
    PARK
}
