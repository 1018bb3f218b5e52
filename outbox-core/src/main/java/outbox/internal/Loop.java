package outbox.internal;

import org.jspecify.annotations.Nullable;
import outbox.internal.text.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
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

        /** Creates a step from a round and the length of the pause after it. For a loop that is not signalled. */
        static Step every(LongSupplier pauseNanos, Runnable round) {
            return new Step() {

                @Override
                public void run() {
                    round.run();
                }

                @Override
                public long pauseNanos() {
                    return pauseNanos.getAsLong();
                }
            };
        }
    }

    private static final Logger LOG = SafeLogger.of(Loop.class);
    private static final long PAUSE_AFTER_FAILURE = TimeUnit.MILLISECONDS.toNanos(50);

    private static final long NO_SIGNAL = -1; // signals do not change the pause

    private final String name;
    private final Scheduler scheduler;
    private final ThreadFactory threads;
    private final Step step;
    private final ThrottledLog trouble = new ThrottledLog(LOG);
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed;
    private boolean alive; // whether a thread runs; guarded by lock
    private volatile @Nullable Thread inTurn; // the thread, while it takes a turn; written by that thread
    private boolean wanted; // set by start, cleared by stop; guarded by lock
    private boolean woken; // start the next round immediately; guarded by lock
    private long signals; // number of calls of signal; guarded by lock
    private volatile boolean closed; // written under lock, read by any thread
    private boolean pausing; // whether the pause after a round is not over; loop thread only
    private long endNanos; // end of that pause; loop thread only
    private long asked; // number of signals when the end was determined; loop thread only

    /** Creates a loop with threads of the JVM, which is not started. */
    public Loop(String name, ThreadFactory threads, Step step) {
        this(name, Scheduler.system(), threads, step);
    }

    /**
     * Creates a loop that is not started.
     *
     * @param name what the loop does, for messages, for example "poller"
     */
    public Loop(String name, Scheduler scheduler, ThreadFactory threads, Step step) {
        this.name = name;
        this.scheduler = scheduler;
        this.threads = threads;
        this.step = step;
        this.changed = scheduler.newCondition(lock);
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
            if (!alive) {
                scheduler.start(threads, this::turn); // if this throws, the loop is not started
                alive = true;
            }
            woken |= !wanted;
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
        return scheduler.await(() -> !isAlive() || isOwnThread(), patience) && !isOwnThread();
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

    private boolean isAlive() {
        lock.lock();
        try {
            return alive;
        } finally {
            lock.unlock();
        }
    }

    private boolean isOwnThread() {
        return inTurn == Thread.currentThread();
    }

    /**
     * Runs one round, or waits once for the end of the pause. Returns false if the thread must end. Also survives an
     * OutOfMemoryError in the loop's own code: a dead thread would look like a running loop.
     */
    private boolean turn() {
        try {
            if (!beginTurn()) {
                return false;
            }
            if (pausing) {
                pause();
            } else {
                runRound();
            }
            inTurn = null;
        } catch (Throwable e) {
            log(e);
            scheduler.pause(PAUSE_AFTER_FAILURE);
        }
        return true;
    }

    /**
     * Returns false if no further round is wanted. In that case the thread is also recorded as ended under the same
     * lock, so that a later start creates a new one.
     */
    private boolean beginTurn() {
        lock.lock();
        try {
            alive = wanted;
            inTurn = wanted ? Thread.currentThread() : null;
            pausing &= wanted && !woken;
            woken &= pausing;
            return wanted;
        } finally {
            lock.unlock();
        }
    }

    private void runRound() {
        try {
            step.run();
            determineEnd();
        } catch (Throwable e) {
            log(e);
            endNanos = scheduler.nanoTime() + PAUSE_AFTER_FAILURE;
            asked = NO_SIGNAL;
            pausing = true;
        }
    }

    private void log(Throwable failure) {
        try {
            trouble.log(Level.ERROR, "The " + name + " failed; it goes on", failure);
        } catch (Throwable e) {
            // A failing log must not end the loop, and there is no other place to report it.
        }
    }

    /** Determines the end of the pause. */
    private void determineEnd() {
        asked = signals();
        long left = step.pauseNanos(); // without the lock: the step may acquire other locks
        endNanos = scheduler.nanoTime() + left;
        pausing = left > 0;
    }

    /** Waits once, unless the pause is over. Only stop and close end a loop, so interrupts are ignored. */
    @SuppressWarnings("WaitNotInLoop") // the next turn checks everything again
    private void pause() {
        boolean ask = false;
        lock.lock();
        try {
            long left = endNanos - scheduler.nanoTime();
            pausing = left > 0;
            ask = pausing && asked != NO_SIGNAL && signals != asked;
            if (pausing && !ask && wanted && !woken) {
                changed.awaitNanos(left);
            }
        } catch (InterruptedException e) {
            // the flag is cleared, and the next turn waits again
        } finally {
            lock.unlock();
        }
        if (ask) {
            pausing = false; // if the step throws, the next turn runs a round
            determineEnd();
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
}
