package outbox.spi;

/**
 * Decides which of several nodes delivers the events of a table: at most one leads at a time, the others stand by.
 *
 * <p>Thread-safe: a poller calls {@link #lead}, any thread asks {@link #isLeader}.
 */
public interface Leadership extends AutoCloseable {

    /**
     * Takes leadership, or makes sure that it is still there; called once per poll cycle, with I/O. A failure to find out is no leadership. One that was lost is answered false at
     * least once before it is taken anew, so that the caller lets go of what it took under the old one.
     */
    boolean lead();

    /** Whether this node leads, without I/O: false as soon as it is known to have lost, or when too much time has passed since it last made sure. Asked before each delivery and each mark. */
    boolean isLeader();

    /**
     * Whether there is a leader as far as this node knows, without I/O: itself, or another one that led when it last
     * asked. False if it could not find out. True before the first try, and for implementations that do not tell.
     */
    default boolean isLed() {
        return true;
    }

    /** Gives leadership up for good; it is free for others at once. Idempotent. */
    @Override
    void close();
}
