package outbox.spi;

import java.sql.Connection;
import java.time.Duration;

/** A store whose table may be in partitions by time, which a purge makes and drops. */
public interface PartitionedEventStore extends LeasingEventStore {

    /**
     * Makes the partitions of the days to come, and drops those in which everything was delivered longer ago than the retention; what others are busy with is left for the next time.
     *
     * @param conn in a transaction without work of its own: each change commits
     * @return false if the table is not in partitions that this store has made; nothing was changed then
     */
    boolean keepPartitions(Connection conn, Duration retention);
}
