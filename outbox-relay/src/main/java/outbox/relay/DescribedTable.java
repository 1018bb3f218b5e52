package outbox.relay;

import outbox.Experimental;
import outbox.spi.Leadership;

/**
 * The capability of a store on a table with a layout that the user describes. The methods return what a relay must
 * know about the table.
 */
@Experimental
public interface DescribedTable {

    /** The name of the table, with its schema if it was given one. */
    String tableName();

    /**
     * Returns the number of attempts after which an event is dead. A table without a status column identifies dead
     * events by this number.
     */
    int maxAttempts();

    /**
     * Returns whether the table has columns for claims, so that several nodes can share it. If not, the relay needs
     * a {@link Leadership}.
     */
    boolean isShared();
}
