package outbox.benchmarks;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits that are bounded. */
final class Pause {
    private Pause() {}

    /** Waits for the condition, and throws if it does not come true in time. */
    static void until(BooleanSupplier condition, Duration limit) {
        long end = System.nanoTime() + limit.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException("Nothing happened within " + limit);
            }
            LockSupport.parkNanos(2_000_000);
        }
    }

    /** Waits until the clock of {@link System#nanoTime()} shows this time. */
    static void untilNanoTime(long time) {
        for (long left = time - System.nanoTime(); left > 0; left = time - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }
}
