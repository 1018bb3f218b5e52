package outbox.internal;

import org.jspecify.annotations.Nullable;
import outbox.internal.text.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;

/**
 * A thread that repeats a step until it is stopped.
 *
 * <pre>
 *  start ─▶ round ─▶ pause ─▶ round ─▶ pause ─▶ ...
 *                      ▲
 *                      └── wake ends the pause; signal recomputes its length
 *
 *  stop:  no further round; start continues the loop
 *  close: like stop, but permanent; waits for the running round
 * </pre>
 *
 * <p>At most one thread runs at a time, for any combination of calls. If a round throws, the exception is logged and
 * the next round follows. Interrupts are ignored: only {@link #stop} and {@link #close} end a loop. Thread-safe. The
 * lock of a loop is never held while a step runs.
 */
public final class Loop {

    /** The work that a loop repeats. */
    public interface Step {

        /** Runs one round. */
        void run();

        /**
         * Returns the time to wait from now until the next round; no wait if not positive. Called again after
         * a signal.
         */
        long pauseNanos();

        /**
         * Creates a step with a pause between the rounds. The length of the pause is determined after each round.
         */
        static Step every(LongSupplier pauseNanos, Runnable round) {
            return new Step() {

                private long endNanos; // end of the pause; used only by the thread of the loop

                @Override
                public void run() {
                    try {
                        round.run();
                    } finally {
                        endNanos = System.nanoTime() + pauseNanos.getAsLong();
                    }
                }

                @Override
                public long pauseNanos() {
                    return endNanos - System.nanoTime();
                }
            };
        }
    }

    private static final Logger LOG = SafeLogger.of(Loop.class);
    private static final long PAUSE_AFTER_FAILURE = TimeUnit.MILLISECONDS.toNanos(50);

    private final String name;
    private final ThreadFactory threads;
    private final Step step;
    private final ThrottledLog trouble = new ThrottledLog(LOG);
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private @Nullable Thread thread; // null while no thread runs; guarded by lock
    private boolean wanted; // set by start, cleared by stop; guarded by lock
    private boolean woken; // start the next round immediately; guarded by lock
    private long signals; // number of calls of signal; guarded by lock
    private volatile boolean closed; // written under lock, read by any thread

    /**
     * Creates a loop that is not started.
     *
     * @param name what the loop does, for messages, for example "poller"
     */
    public Loop(String name, ThreadFactory threads, Step step) {
        this.name = name;
        this.threads = threads;
        this.step = step;
    }

    /**
     * Starts a thread unless one is running.
     *
     * @throws IllegalStateException if the loop is closed
     */
    public void start() {
        lock.lock();
        try {
            if (closed) {
                throw new IllegalStateException(
                        "The " + name + " is closed and cannot be started again; build a new one");
            }
            if (thread == null) {
                Thread started = threads.newThread(this::run);
                started.start(); // if this throws, the loop is not started
                thread = started;
            }
            wanted = true; // the new thread reads it under the lock
        } finally {
            lock.unlock();
        }
    }

    /** Starts the next round immediately. If a round is running, another one follows it. */
    public void wake() {
        lock.lock();
        try {
            woken = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Recomputes the length of the pause after a change that it depends on. */
    public void signal() {
        lock.lock();
        try {
            signals++;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Prevents further rounds. Does not wait for the current one. */
    public void stop() {
        lock.lock();
        try {
            wanted = false;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Stops the loop permanently without waiting. Returns false if it was already closed. */
    public boolean closeNow() {
        lock.lock();
        try {
            boolean first = !closed;
            closed = true;
            stop();
            return first;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Stops the loop permanently and waits for the running round, unless the caller is the thread of the loop. If
     * the wait times out or is interrupted, the round continues in the background.
     *
     * @return whether no thread of the loop is running any more
     */
    public boolean close(Duration patience) {
        closeNow();
        try {
            boolean ended = awaitEnd(patience);
            if (!ended && !isOwnThread()) {
                LOG.log(
                        Level.WARNING,
                        "The " + name + " has not ended within " + patience
                                + "; its last round goes on in the background");
            }
            return ended;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /**
     * Waits until no thread of the loop runs. Returns false if the wait times out or if the caller is the thread of
     * the loop.
     */
    public boolean awaitEnd(Duration patience) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            long left = patience.toNanos();
            while (thread != null && thread != Thread.currentThread() && left > 0) {
                left = changed.awaitNanos(left);
            }
            return thread == null;
        } finally {
            lock.unlock();
        }
    }

    /** Whether the loop was started and neither stopped nor closed since. */
    public boolean isStarted() {
        lock.lock();
        try {
            return wanted;
        } finally {
            lock.unlock();
        }
    }

    public boolean isClosed() {
        return closed;
    }

    private boolean isOwnThread() {
        lock.lock();
        try {
            return thread == Thread.currentThread();
        } finally {
            lock.unlock();
        }
    }

    /** Also survives an OutOfMemoryError in the loop's own code: a dead thread would look like a running loop. */
    private void run() {
        while (true) {
            try {
                if (!beginRound()) {
                    return;
                }
                runRound();
            } catch (Throwable e) {
                LockSupport.parkNanos(PAUSE_AFTER_FAILURE); // needs no memory
            }
        }
    }

    /**
     * Returns false if no further round is wanted. In that case the thread is also recorded as ended under the same
     * lock, so that a later start creates a new one.
     */
    private boolean beginRound() {
        lock.lock();
        try {
            woken = false;
            if (!wanted) {
                thread = null;
                changed.signalAll();
            }
            return wanted;
        } finally {
            lock.unlock();
        }
    }

    private void runRound() {
        try {
            step.run();
            pause();
        } catch (Throwable e) {
            log(e);
            isSignalledWithin(PAUSE_AFTER_FAILURE, -1);
        }
    }

    private void log(Throwable failure) {
        try {
            trouble.log(Level.ERROR, "The " + name + " failed; it goes on", failure);
        } catch (Throwable e) {
            // A failing log must not end the loop, and there is no other place to report it.
        }
    }

    private void pause() {
        boolean ask = true;
        while (ask) {
            long before = signals();
            long left = step.pauseNanos(); // without the lock: the step may acquire other locks
            ask = left > 0 && isSignalledWithin(left, before);
        }
    }

    private long signals() {
        lock.lock();
        try {
            return signals;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits until the number of signals differs from {@code before}. Returns false if the time has passed, if the
     * loop was woken, or if it was stopped. A negative {@code before} ignores signals.
     */
    private boolean isSignalledWithin(long nanos, long before) {
        long end = System.nanoTime() + nanos;
        lock.lock();
        try {
            for (long left = nanos; left > 0 && wanted && !woken; left = end - System.nanoTime()) {
                if (before >= 0 && signals != before) {
                    return true;
                }
                awaitChange(left);
            }
            return false;
        } finally {
            lock.unlock();
        }
    }

    @SuppressWarnings("WaitNotInLoop") // the caller contains the loop
    private void awaitChange(long nanos) {
        try {
            changed.awaitNanos(nanos);
        } catch (InterruptedException e) {
            // Ignored: only stop and close end a loop.
        }
    }
}
