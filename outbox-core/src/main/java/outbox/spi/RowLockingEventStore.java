package outbox.spi;

import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;

/**
 * A store whose claims pass over rows that other transactions have locked, and that can tell whether there are any.
 */
public interface RowLockingEventStore extends LeasingEventStore {

    /**
     * Locks the events that a claim with the same arguments would take first, until the end of the transaction. False
     * if another transaction has locked one of them: a claim would pass over it and take later events before it.
     */
    boolean lockDue(Connection conn, Instant now, Instant lockExpiry, Duration skipRecent, int limit);
}
