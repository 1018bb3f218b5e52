package outbox.purge;

import org.jspecify.annotations.Nullable;
import outbox.OutboxException;
import outbox.admin.EventAdministration;
import outbox.internal.Scheduler;
import outbox.internal.StoreAccess;
import outbox.internal.ThrottledLog;
import outbox.internal.text.SafeLogger;
import outbox.model.EventStatus;
import outbox.spi.EventControl;
import outbox.spi.EventStore;
import outbox.spi.MetricsExporter;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;

/**
 * Deletes events that are past their retention. Each batch is a separate transaction, so that locks are few and
 * short. A batch that fails, for example because of locks of others, halves the size of the next batches. Each
 * successful batch doubles it again, up to the configured size. After each batch, the run pauses for five times the
 * duration of the batch, because commits of writers may wait for the transaction log of a batch.
 *
 * <p>In a partitioned table, whole days are dropped. Rows are deleted one by one only after their day should have
 * been dropped. Such rows are in a day that is kept because of another event, or in no day partition.
 */
final class PurgeRun {

    private static final Logger LOG = SafeLogger.of(PurgeRun.class);
    private static final int MAX_ATTEMPTS = 5000; // limit per transaction
    private static final int MAX_KEYS = 200; // limit per transaction; writers of these keys wait for the transaction
    private static final int REST = 5; // pause after a batch, as a multiple of its duration
    private static final Duration MAX_REST = Duration.ofMillis(250); // limits how long a close waits for the pause
    // time for the day to end and its last events to be delivered
    private static final Duration DAY_IS_DROPPED = Duration.ofDays(2);

    private final StoreAccess access;
    private final Scheduler scheduler;
    private final EventAdministration store;
    private final @Nullable EventControl keys; // null if the store has no keys
    private final Duration retention;
    private final @Nullable Duration deadRetention;
    private final int batchSize;
    private final MetricsExporter metrics; // a GuardedMetrics, which never throws
    private final ThrottledLog trouble = new ThrottledLog(LOG);
    // between 1 and batchSize; written and read by purging threads; a lost update is harmless
    private final AtomicInteger currentSize;

    PurgeRun(
            StoreAccess access,
            EventStore store,
            Duration retention,
            @Nullable Duration deadRetention,
            int batchSize,
            MetricsExporter metrics) {
        this.access = access;
        this.scheduler = access.scheduler();
        this.store = EventAdministration.of(store);
        this.keys = store.capability(EventControl.class).orElse(null);
        this.retention = retention;
        this.deadRetention = deadRetention;
        this.batchSize = batchSize;
        this.metrics = metrics;
        this.currentSize = new AtomicInteger(batchSize);
    }

    OutboxPurge.Result run(BooleanSupplier goesOn) {
        Duration doneAge = hasPartitions() ? retention.plus(DAY_IS_DROPPED) : retention;
        if (keys != null) {
            purgeKeys(keys, doneAge, goesOn);
        }
        long done = purge(EventStatus.DONE, doneAge, goesOn);
        long dead = deadRetention == null ? 0 : purge(EventStatus.DEAD, deadRetention, goesOn);
        purgeAttempts(goesOn);
        return new OutboxPurge.Result(done, dead);
    }

    /**
     * Creates and drops partitions. Returns whether the table is partitioned. If this fails, for example for lack of
     * privileges, events are purged row by row.
     */
    private boolean hasPartitions() {
        if (!store.mayBePartitioned()) {
            return false;
        }
        try {
            return access.inTransaction(
                    "keep the partitions", connection -> store.keepPartitions(connection, retention));
        } catch (RuntimeException e) {
            metrics.recordPurgeFailure();
            trouble.log(Level.WARNING, "The partitions cannot be kept; the next run tries again", e);
            return false;
        }
    }

    /**
     * Purges keys before the events, so that no key refers to a deleted event. A failure does not prevent the
     * purge of events.
     */
    private void purgeKeys(EventControl keyed, Duration age, BooleanSupplier goesOn) {
        try {
            Optional<String> next = Optional.of("");
            while (next.isPresent() && goesOn.getAsBoolean()) {
                String after = next.get();
                next = access.inTransaction(
                        "purge keys",
                        connection -> keyed.purgeKeys(
                                connection, access.ask(connection).minus(age), after, MAX_KEYS));
            }
        } catch (RuntimeException e) {
            metrics.recordPurgeFailure();
            trouble.log(Level.WARNING, "The keys cannot be purged; the next run tries again", e);
        }
    }

    /**
     * Purges the attempt history, once per run, because it reads the whole history to find attempts without an
     * event. A failure does not affect the purge of events.
     */
    private void purgeAttempts(BooleanSupplier goesOn) {
        Duration age = deadRetention != null && deadRetention.compareTo(retention) < 0 ? deadRetention : retention;
        try {
            boolean more = true;
            while (more && goesOn.getAsBoolean()) {
                more = access.inTransaction("purge attempts", connection -> purgeAttempts(connection, age))
                        == MAX_ATTEMPTS;
            }
        } catch (RuntimeException e) {
            metrics.recordPurgeFailure();
            trouble.log(Level.WARNING, "The history of attempts cannot be purged; the next run tries again", e);
        }
    }

    private int purgeAttempts(Connection connection, Duration age) {
        return store.keepsAttempts(connection)
                ? store.purgeAttempts(connection, access.ask(connection).minus(age), MAX_ATTEMPTS)
                : 0;
    }

    private long purge(EventStatus status, Duration age, BooleanSupplier goesOn) {
        long total = 0;
        while (goesOn.getAsBoolean()) {
            int limit = currentSize.get();
            long start = scheduler.nanoTime();
            int count = batch(status, age, limit, total);
            total += count;
            if (count < limit) {
                break;
            }
            scheduler.pause(Math.min(REST * (scheduler.nanoTime() - start), MAX_REST.toNanos()));
        }
        return total;
    }

    private int batch(EventStatus status, Duration age, int limit, long before) {
        try {
            int count = access.inTransaction(
                    "purge " + status + " events",
                    connection -> store.purge(
                            connection, status, access.ask(connection).minus(age), limit));
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
