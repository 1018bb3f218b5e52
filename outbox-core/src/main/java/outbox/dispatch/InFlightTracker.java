package outbox.dispatch;

/** Keeps one process from running the same event twice at a time. Thread-safe. */
public interface InFlightTracker {

    /** Takes the event; false if it is already being processed. */
    boolean tryAcquire(String eventId);

    /** Gives it back, after its outcome was written. */
    void release(String eventId);
}
