package outbox.internal;

/** Provides the time at which this node began to lead. */
public interface LeadershipStart {

    /**
     * Returns a time on the scale of {@link System#nanoTime()}. Everything that this node did as the leader happened
     * after it.
     */
    long startNanos();
}
