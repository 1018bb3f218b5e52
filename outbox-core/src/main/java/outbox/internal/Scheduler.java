package outbox.internal;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.function.BooleanSupplier;

/**
 * The clocks, the waits, the threads and the random numbers of an engine. Dispatcher, poller and purge use
 * nothing else for these. A test replaces it to run several engines step by step on one thread, see ADR 73.
 *
 * <p>A thread of an engine consists of turns. A turn does one piece of work, or it waits once for a condition as its
 * last action. It does not rely on the reason why the wait ended, because the next turn checks everything again.
 */
public interface Scheduler {

    /** Returns the clock and the threads of the JVM. */
    static Scheduler system() {
        return SystemScheduler.INSTANCE;
    }

    /** Returns the monotonic clock, in nanoseconds. Only differences have a meaning. */
    long nanoTime();

    /** Returns the wall clock, which may jump. Only {@link DatabaseClock} needs it. */
    Instant wallTime();

    /** Waits in the middle of a turn. An interrupt neither ends the wait nor gets lost. Needs no memory. */
    void pause(long nanos);

    /** Returns a random number, at least {@code origin} and less than {@code bound}. */
    long random(long origin, long bound);

    /** Creates a condition of a lock. A turn waits for it; a wait may end at any time. */
    Condition newCondition(Lock lock);

    /** Starts a thread that takes turns until one returns false. Turns do not throw. */
    void start(ThreadFactory threads, BooleanSupplier turn);

    /** Runs a short task on a separate thread. */
    default void execute(ThreadFactory threads, Runnable task) {
        start(threads, () -> {
            task.run();
            return false;
        });
    }

    /**
     * Waits until the condition holds, and checks it every millisecond. For closes, which are rare. Returns false if
     * the given time is over first.
     */
    default boolean await(BooleanSupplier condition, Duration patience) throws InterruptedException {
        long end = nanoTime() + patience.toNanos();
        while (!condition.getAsBoolean()) {
            long left = end - nanoTime();
            if (left <= 0) {
                return false;
            }
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            pause(Math.min(left, TimeUnit.MILLISECONDS.toNanos(1)));
        }
        return true;
    }
}
