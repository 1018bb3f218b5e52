package outbox.internal;

import java.time.Instant;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** The clock and the threads of the JVM. */
final class SystemScheduler implements Scheduler {

    static final SystemScheduler INSTANCE = new SystemScheduler();

    private SystemScheduler() {}

    @Override
    public long nanoTime() {
        return System.nanoTime();
    }

    @Override
    public Instant wallTime() {
        return SystemTime.now();
    }

    @Override
    public void pause(long nanos) {
        long end = System.nanoTime() + nanos;
        boolean interrupted = false;
        for (long left = nanos; left > 0; left = end - System.nanoTime()) {
            LockSupport.parkNanos(left);
            interrupted |= Thread.interrupted(); // otherwise parkNanos would return at once
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public long random(long origin, long bound) {
        return ThreadLocalRandom.current().nextLong(origin, bound);
    }

    @Override
    public Condition newCondition(Lock lock) {
        return lock.newCondition();
    }

    @Override
    public void start(ThreadFactory threads, BooleanSupplier turn) {
        threads.newThread(() -> {
                    while (turn.getAsBoolean()) {
                        // the work is in the turn
                    }
                })
                .start();
    }
}
