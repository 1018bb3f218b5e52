package outbox.rabbitmq;

import java.time.Duration;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** Counts messages that have arrived and are not settled. Thread-safe. */
final class InFlight {

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition none = lock.newCondition();
    private int count; // guarded by lock

    void begin() {
        lock.lock();
        try {
            count++;
        } finally {
            lock.unlock();
        }
    }

    void end() {
        lock.lock();
        try {
            if (--count == 0) {
                none.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    int count() {
        lock.lock();
        try {
            return count;
        } finally {
            lock.unlock();
        }
    }

    /** Waits until the count is zero. Returns false if the time limit passes first. */
    boolean awaitNone(Duration limit) throws InterruptedException {
        long left = limit.toNanos();
        lock.lockInterruptibly();
        try {
            while (count > 0) {
                if (left <= 0) {
                    return false;
                }
                left = none.awaitNanos(left);
            }
            return true;
        } finally {
            lock.unlock();
        }
    }
}
