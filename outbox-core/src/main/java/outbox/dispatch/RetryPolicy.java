package outbox.dispatch;

/** Decides how long an event waits before its next attempt. Called on worker threads. */
@FunctionalInterface
public interface RetryPolicy {

    /**
     * Returns the wait in milliseconds.
     *
     * @param attempts how many attempts have failed so far, counted from 1
     */
    long computeDelayMs(int attempts);
}
