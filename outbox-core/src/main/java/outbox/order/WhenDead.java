package outbox.order;

/** What becomes of an aggregate when one of its events is DEAD. */
public enum WhenDead {
    /** Later events of the aggregate wait until the dead one is replayed, skipped or discarded. */
    BLOCK,
    /** Later events go on; the dead one stays for an operator to look at. */
    SKIP,
    /** Later events are set aside with it: they become DEAD too, with that reason, and are replayed together, in order. */
    PARK
}
