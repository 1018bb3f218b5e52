package outbox.jdbc;

import java.sql.Connection;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import javax.sql.DataSource;

/**
 * The partitions of a module's outbox on PostgreSQL that {@link LayoutSchema#createPartitioned} created: one for
 * each day in UTC, named after the table and the day, and a default partition for all other times. A relay or an
 * {@link outbox.purge.OutboxPurge} maintains them. This class is for programs that use neither. Call it regularly,
 * on one node or on several: {@link #createAhead} before a day begins, and {@link #dropOld} instead of a purge, or
 * in addition to one that deletes the rows of remaining partitions.
 *
 * <p>A partition is dropped as a whole. It must contain no pending or dead event, and all its events must have been
 * delivered before the retention. Dropping locks the whole table for a moment. So it waits for that lock at most 200
 * ms and otherwise leaves the partition for the next call. Thread-safe. Keeps no connection.
 */
public final class ModulePartitions {

    private final DataSource dataSource;
    private final LayoutEventStore store;
    private final DayPartitions partitions;

    /**
     * Creates an object for the partitions of the store's table.
     *
     * @throws IllegalArgumentException if it is not a module's outbox on PostgreSQL
     */
    public ModulePartitions(DataSource dataSource, LayoutEventStore store) {
        this.dataSource = Objects.requireNonNull(dataSource, "dataSource");
        this.store = store;
        this.partitions = new DayPartitions(store);
        if (!DayPartitions.canBeOf(store)) {
            throw new IllegalArgumentException("Only a table of layout '" + TableLayout.MODULE
                    + "' on PostgreSQL can have partitions, not " + store.table());
        }
        String simple = store.table().simpleName();
        if (simple.length() > DayPartitions.MAX_NAME) {
            throw new IllegalArgumentException("The name of a table with partitions has at most "
                    + DayPartitions.MAX_NAME + " characters: " + simple);
        }
    }

    /**
     * Creates the partitions of today and of the given number of following days, if they do not exist. A day that
     * already has rows in the default partition stays there.
     *
     * @param days 0 to 366
     * @return the number of partitions that were created
     */
    public int createAhead(int days) {
        if (days < 0 || days > DayPartitions.MAX_DAYS) {
            throw new IllegalArgumentException("days must be between 0 and " + DayPartitions.MAX_DAYS + ": " + days);
        }
        return store.run("make partitions", () -> {
            try (Connection connection = dataSource.getConnection()) {
                return partitions.createAhead(connection, days);
            }
        });
    }

    /**
     * Drops the partitions of days whose events were all delivered longer ago than the retention.
     *
     * @return the names of the dropped partitions
     */
    public List<String> dropOld(Duration retention) {
        if (retention.isNegative()) {
            throw new IllegalArgumentException("retention must not be negative: " + retention);
        }
        return store.run("drop old partitions", () -> {
            try (Connection connection = dataSource.getConnection()) {
                return partitions.dropOld(connection, retention);
            }
        });
    }
}
