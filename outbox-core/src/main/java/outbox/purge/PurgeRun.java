package outbox.purge;

import org.jspecify.annotations.Nullable;
import outbox.OutboxException;
import outbox.internal.QuietLog;
import outbox.internal.StoreAccess;
import outbox.model.EventStatus;
import outbox.spi.AdminEventStore;
import outbox.spi.AttemptEventStore;
import outbox.spi.ControlledEventStore;
import outbox.spi.MetricsExporter;
import outbox.spi.PartitionedEventStore;
import outbox.spi.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Deletes what is past its retention, a batch per transaction, so that locks are few and short. A batch that fails, such as for locks that others hold, makes the batches after it
 * half as large; each that succeeds makes them larger again. After each it rests for five times as long as it took: writers, whose commits wait for the log that a batch leaves, then hardly
 * meet one.
 *
 * <p>Of a table in partitions, days are dropped as a whole. Rows are deleted there only once their day should be gone: what is left then is in a day that is kept for another event, or in none.
 */
final class PurgeRun {

    private static final Logger LOG = SafeLogger.of(PurgeRun.class);
    private static final int MAX_ATTEMPTS = 5000; // per transaction
    private static final int MAX_KEYS = 200; // per transaction; writers of these keys wait for it
    private static final int REST = 5; // times the time of a batch
    private static final Duration MAX_REST = Duration.ofMillis(250); // a close does not wait longer for it
    private static final Duration DAY_IS_DROPPED = Duration.ofDays(2); // a day ends, and its last events are delivered

    private final StoreAccess access;
    private final AdminEventStore store;
    private final Duration retention;
    private final @Nullable Duration deadRetention;
    private final int batchSize;
    private final MetricsExporter metrics; // guarded
    private final QuietLog trouble = new QuietLog(LOG);
    private final AtomicInteger currentSize; // between 1 and batchSize; a lost update does no harm

    PurgeRun(
            StoreAccess access,
            AdminEventStore store,
            Duration retention,
            @Nullable Duration deadRetention,
            int batchSize,
            MetricsExporter metrics) {
        this.access = access;
        this.store = store;
        this.retention = retention;
        this.deadRetention = deadRetention;
        this.batchSize = batchSize;
        this.metrics = metrics;
        this.currentSize = new AtomicInteger(batchSize);
    }

    PurgeResult run(BooleanSupplier goesOn) {
        Duration doneAge = hasPartitions() ? retention.plus(DAY_IS_DROPPED) : retention;
        if (store instanceof ControlledEventStore keyed) {
            purgeKeys(keyed, doneAge, goesOn);
        }
        long done = purge(EventStatus.DONE, doneAge, goesOn);
        long dead = deadRetention == null ? 0 : purge(EventStatus.DEAD, deadRetention, goesOn);
        if (store instanceof AttemptEventStore keeping) {
            purgeAttempts(keeping, goesOn);
        }
        return new PurgeResult(done, dead);
    }

    /** Whatever is wrong with partitions, such as no right to make one, the events are purged. */
    private boolean hasPartitions() {
        if (!(store instanceof PartitionedEventStore partitioned)) {
            return false;
        }
        try {
            return access.inTransaction(
                    "keep the partitions", connection -> partitioned.keepPartitions(connection, retention));
        } catch (RuntimeException e) {
            metrics.recordPurgeFailure();
            trouble.log(Level.WARNING, "The partitions cannot be kept; the next run tries again", e);
            return false;
        }
    }

    /**
     * Before the events, so that no key names an event that is gone. Whatever is wrong with keys, the events are
     * purged.
     */
    private void purgeKeys(ControlledEventStore keyed, Duration age, BooleanSupplier goesOn) {
        try {
            Optional<String> next = Optional.of("");
            while (next.isPresent() && goesOn.getAsBoolean()) {
                String after = next.get();
                next = access.inTransaction(
                        "purge keys",
                        connection -> keyed.purgeKeys(
                                connection, keyed.now(connection).minus(age), after, MAX_KEYS));
            }
        } catch (RuntimeException e) {
            metrics.recordPurgeFailure();
            trouble.log(Level.WARNING, "The keys cannot be purged; the next run tries again", e);
        }
    }

    /** Once per run, because it reads the history to find what belongs to no event. Whatever is wrong with that, the events are purged. */
    private void purgeAttempts(AttemptEventStore keeping, BooleanSupplier goesOn) {
        Duration age = deadRetention != null && deadRetention.compareTo(retention) < 0 ? deadRetention : retention;
        try {
            boolean more = true;
            while (more && goesOn.getAsBoolean()) {
                more = access.inTransaction(
                                "purge attempts",
                                connection -> keeping.purgeAttempts(
                                        connection, keeping.now(connection).minus(age), MAX_ATTEMPTS))
                        == MAX_ATTEMPTS;
            }
        } catch (RuntimeException e) {
            metrics.recordPurgeFailure();
            trouble.log(Level.WARNING, "The history of attempts cannot be purged; the next run tries again", e);
        }
    }

    private long purge(EventStatus status, Duration age, BooleanSupplier goesOn) {
        long total = 0;
        while (goesOn.getAsBoolean()) {
            int limit = currentSize.get();
            long start = System.nanoTime();
            int count = batch(status, age, limit, total);
            total += count;
            if (count < limit) {
                break;
            }
            LockSupport.parkNanos(Math.min(REST * (System.nanoTime() - start), MAX_REST.toNanos()));
        }
        return total;
    }

    private int batch(EventStatus status, Duration age, int limit, long before) {
        try {
            int count = access.inTransaction(
                    "purge " + status + " events",
                    connection -> store.purge(
                            connection, status, store.now(connection).minus(age), limit));
            currentSize.set(Math.min(batchSize, limit * 2));
            metrics.recordPurged(count);
            return count;
        } catch (RuntimeException e) {
            currentSize.set(Math.max(1, limit / 2));
            metrics.recordPurgeFailure();
            throw new OutboxException(
                    "The purge of " + status + " events failed after " + before + " were deleted: " + e.getMessage(),
                    e);
        }
    }
}
