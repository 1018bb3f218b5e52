package outbox.dispatch;

/** Prevents a process from running the same event twice at the same time. Thread-safe. */
public interface InFlightTracker {

    /** Acquires the event. Returns false if it is already being processed. */
    boolean tryAcquire(String eventId);

    /** Releases the event after its outcome was written. */
    void release(String eventId);

    /**
     * Whether the event has been in flight for too long. If its listener still runs then, the dispatcher interrupts
     * it and no longer waits for it: the attempt has failed, and the event is retried. The default, false, leaves
     * this to the time limit of the listener.
     */
    default boolean hasExpired(String eventId) {
        return false;
    }
}
