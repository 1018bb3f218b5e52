package outbox.purge;

import org.jspecify.annotations.Nullable;
import outbox.OutboxException;
import outbox.internal.StoreAccess;
import outbox.model.EventStatus;
import outbox.spi.AdminEventStore;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;

/**
 * Deletes what is past its retention, a batch per transaction, so that locks are few and short. A batch that fails, such as for locks that others hold, makes the batches after it
 * half as large; each that succeeds makes them larger again.
 */
final class PurgeRun {

    private final StoreAccess access;
    private final AdminEventStore store;
    private final Duration retention;
    private final @Nullable Duration deadRetention;
    private final int batchSize;
    private final AtomicInteger currentSize; // between 1 and batchSize; a lost update does no harm

    PurgeRun(
            StoreAccess access,
            AdminEventStore store,
            Duration retention,
            @Nullable Duration deadRetention,
            int batchSize) {
        this.access = access;
        this.store = store;
        this.retention = retention;
        this.deadRetention = deadRetention;
        this.batchSize = batchSize;
        this.currentSize = new AtomicInteger(batchSize);
    }

    PurgeResult run(BooleanSupplier goesOn) {
        long done = purge(EventStatus.DONE, retention, goesOn);
        long dead = deadRetention == null ? 0 : purge(EventStatus.DEAD, deadRetention, goesOn);
        return new PurgeResult(done, dead);
    }

    private long purge(EventStatus status, Duration age, BooleanSupplier goesOn) {
        long total = 0;
        while (goesOn.getAsBoolean()) {
            int limit = currentSize.get();
            int count = batch(status, age, limit, total);
            total += count;
            if (count < limit) {
                break;
            }
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
            return count;
        } catch (RuntimeException e) {
            currentSize.set(Math.max(1, limit / 2));
            throw new OutboxException(
                    "The purge of " + status + " events failed after " + before + " were deleted: " + e.getMessage(),
                    e);
        }
    }
}
