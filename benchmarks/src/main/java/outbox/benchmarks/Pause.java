package outbox.benchmarks;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits with a time limit. */
final class Pause {
    private Pause() {}

    /** Waits for the condition. Throws if it is not true within the time limit. */
    static void until(BooleanSupplier condition, Duration limit) {
        long end = System.nanoTime() + limit.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException("Nothing happened within " + limit);
            }
            LockSupport.parkNanos(2_000_000);
        }
    }

    /** Waits until {@link System#nanoTime()} reaches this time. */
    static void untilNanoTime(long time) {
        for (long left = time - System.nanoTime(); left > 0; left = time - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }
}
