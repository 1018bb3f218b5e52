package outbox.admin;

/** An operation of a person on many events at once or on the delivery itself. */
public enum AdminAction {
    /** Makes dead or delivered events pending again, with zero attempts. */
    REPLAY,
    /** Deletes dead events permanently. */
    DISCARD,
    /**
     * Permanently removes dead events from the order of their aggregate, so that later events continue. The events
     * stay dead.
     */
    SKIP,
    /** Stops the delivery of some or all events on all nodes. */
    PAUSE,
    /** Ends a pause. */
    RESUME,
    /**
     * Deletes finished events past their retention. Recorded for purges that a person starts, not for
     * {@link outbox.purge.OutboxPurge}.
     */
    PURGE,
    /** Requests a run of a reconcile job. */
    RECONCILE,
    /** Ends the leases of a node that is gone, so that other nodes may claim its events immediately. */
    RELEASE,
    /** Makes events that wait for their due time due now. */
    RUN_NOW
}
