package outbox.jdbc;

import java.sql.Connection;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import javax.sql.DataSource;

/**
 * The partitions of a module's outbox on PostgreSQL that {@link LayoutSchema#createPartitioned} made: one for each day of UTC, called by the table and its day, and a rest for all other
 * times. A relay keeps them with its purge, and so does an {@link outbox.purge.OutboxPurge}. This is for programs without either, to be called now and then, by one node or several:
 * {@link #createAhead} before a day begins, {@link #dropOld} instead of a purge, or beside one that deletes what a kept partition holds.
 *
 * <p>A partition is dropped as a whole: only when nothing in it is pending or dead, and everything was delivered before the retention. For a moment this locks the table against all, so it waits
 * for that lock no longer than 200 ms, and leaves the partition for the next time if others were busy. Thread-safe; keeps no connection.
 */
public final class ModulePartitions {

    private final DataSource dataSource;
    private final LayoutEventStore store;
    private final DayPartitions partitions;

    /**
     * The partitions of the store's table.
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
     * Makes the partitions of today and of the given number of days after it, if they are not there. A day of which the rest has rows already keeps to the rest.
     *
     * @param days 0 to 366
     * @return how many were made
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
     * @return the names of those that were dropped
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
