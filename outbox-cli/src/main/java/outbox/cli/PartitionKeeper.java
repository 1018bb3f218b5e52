package outbox.cli;

import outbox.jdbc.ModulePartitions;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Makes the partitions of one table before their day begins, and drops old ones if a retention is set; at once and then at every interval, on a thread of its own. Any number of processes may do so. */
final class PartitionKeeper implements AutoCloseable {

    /** A relay that is down for less than these days leaves nothing to the partition for the rest. */
    static final int DAYS_AHEAD = 7;

    private static final Logger LOG = System.getLogger(PartitionKeeper.class.getName());
    private static final Duration CLOSE_LIMIT = Duration.ofSeconds(5);

    private final String table;
    private final ModulePartitions partitions;
    private final Optional<Duration> retention;
    private final Duration interval;
    private final CountDownLatch closing = new CountDownLatch(1);
    private final Thread thread;

    private PartitionKeeper(
            String table, ModulePartitions partitions, Optional<Duration> retention, Duration interval) {
        this.table = table;
        this.partitions = partitions;
        this.retention = retention;
        this.interval = interval;
        this.thread = new Thread(this::loop, "outbox-relay-partitions");
        thread.setDaemon(true);
    }

    static PartitionKeeper start(
            String table, ModulePartitions partitions, Optional<Duration> retention, Duration interval) {
        PartitionKeeper keeper = new PartitionKeeper(table, partitions, retention, interval);
        keeper.thread.start();
        return keeper;
    }

    private void loop() {
        try {
            do {
                keep();
            } while (!closing.await(interval.toMillis(), TimeUnit.MILLISECONDS));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // nobody does so; the thread ends
        }
    }

    private void keep() {
        try {
            int made = partitions.createAhead(DAYS_AHEAD);
            List<String> dropped = retention.map(partitions::dropOld).orElse(List.of());
            if (made > 0 || !dropped.isEmpty()) {
                LOG.log(Level.INFO, "Partitions of table {0}: {1} made, {2} dropped", table, made, dropped);
            }
        } catch (RuntimeException | Error e) {
            LOG.log(
                    Level.WARNING,
                    "Cannot make or drop partitions of table " + table + "; trying again in " + interval,
                    e);
        }
    }

    /** Waits for the statement under way, but not for long: the database undoes what is not committed. */
    @Override
    public void close() {
        closing.countDown();
        try {
            thread.join(CLOSE_LIMIT.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
