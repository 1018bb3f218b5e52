package outbox.admin;

/** What a person may do: to many events at once, or to what is delivered at all. */
public enum AdminAction {
    /** Makes dead or delivered events pending again, with all their attempts before them. */
    REPLAY,
    /** Deletes dead events for good. */
    DISCARD,
    /** Takes dead events out of the order of their aggregate for good, so that later ones go on; they stay dead. */
    SKIP,
    /** Stops the delivery of some or all events on all nodes. */
    PAUSE,
    /** Ends a pause. */
    RESUME,
    /** Deletes finished events past their retention. Recorded by who purges by hand, not by {@link outbox.purge.OutboxPurge}. */
    PURGE,
    /** Asks for a run of a reconcile job. */
    RECONCILE,
    /** Ends the leases of a node that is gone, so that others may claim its events at once. */
    RELEASE,
    /** Makes events that wait for their time due now. */
    RUN_NOW
}
