package outbox.internal;

/** Knows when this node began to lead, as far as anything that it did as the leader is concerned. */
public interface LeadershipStart {

    /**
     * A moment on the scale of {@link System#nanoTime()}: nothing that this node did as the leader happened before
     * it.
     */
    long startNanos();
}
