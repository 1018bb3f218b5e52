package outbox.spi;

import outbox.Experimental;

import java.sql.Connection;
import java.time.Duration;

/** A store whose table may be partitioned by time. A purge creates and drops the partitions. */
@Experimental
public interface PartitionedEventStore extends LeasingEventStore {

    /**
     * Creates the partitions of the coming days. Drops partitions in which every event was delivered longer ago than
     * the retention. Partitions that other transactions are using are left for the next call.
     *
     * @param conn a connection whose transaction contains no other work, because each change commits
     * @return false if the table has no partitions that this store created; then nothing was changed
     */
    boolean keepPartitions(Connection conn, Duration retention);
}
