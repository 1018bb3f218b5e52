package outbox.dispatch;

/** Keeps one process from running the same event twice at a time. Thread-safe. */
public interface InFlightTracker {

    /** Takes the event; false if it is already being processed. */
    boolean tryAcquire(String eventId);

    /** Gives it back, after its outcome was written. */
    void release(String eventId);

    /**
     * Whether the event has been in flight for too long. If its listener is at work then, the dispatcher interrupts the
     * listener and waits for it no longer: the attempt has failed, and the event is tried again. The default, false,
     * leaves that to the time limit of the listener.
     */
    default boolean hasExpired(String eventId) {
        return false;
    }
}
