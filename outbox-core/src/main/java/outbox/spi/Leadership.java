package outbox.spi;

/**
 * Whether this node is the one that works on a table. At most one node leads at a time; who was stopped past its term, or whose session died, leads no more.
 *
 * <p>{@link #lead} is called by one thread at a time; {@link #isLeader} by any.
 */
public interface Leadership extends AutoCloseable {

    /** Takes the lead if nobody has it, or verifies that it is still ours; asks the database. Called once per cycle. */
    boolean lead();

    /** Whether the lead is ours as far as this node knows. Asks nobody, so it may be asked before each delivery and each mark. */
    boolean isLeader();

    /** Gives up the lead. Idempotent. */
    @Override
    void close();
}
