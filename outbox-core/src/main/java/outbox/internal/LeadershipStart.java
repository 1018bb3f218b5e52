package outbox.internal;

/** Provides the time at which this node began to lead. */
public interface LeadershipStart {

    /**
     * Returns a time of the monotonic clock of the engine. Everything that this node did as the leader happened
     * after it.
     */
    long startNanos();
}
