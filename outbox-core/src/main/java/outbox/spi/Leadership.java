package outbox.spi;

import outbox.Experimental;

/**
 * Decides which of several nodes delivers the events of a table. At most one node leads at a time; the others
 * stand by.
 *
 * <p>Thread-safe: a poller calls {@link #lead}; any thread may call {@link #isLeader}.
 */
@Experimental
public interface Leadership extends AutoCloseable {

    /**
     * Acquires leadership or verifies that this node still has it. Called once per poll cycle; performs I/O. If the
     * state cannot be determined, returns false. After leadership was lost, returns false at least once before it is
     * acquired again, so that the caller releases everything it claimed under the old leadership.
     */
    boolean lead();

    /**
     * Whether this node leads, without I/O. Returns false as soon as the loss is known, or if too much time has
     * passed since the last verification. Called before each delivery and each mark.
     */
    boolean isLeader();

    /**
     * Whether any node leads, as far as this node knows, without I/O: this node, or another node at the time of the
     * last check. False if the last check failed. True before the first check and for implementations that do not
     * report it.
     */
    default boolean isLed() {
        return true;
    }

    /** Gives up leadership permanently, so that another node can acquire it immediately. Idempotent. */
    @Override
    void close();
}
