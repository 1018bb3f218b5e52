package outbox.rabbitmq;

import java.time.Duration;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** The messages that have arrived and are not over. Any thread. */
final class InFlight {

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition none = lock.newCondition();
    private int count; // under the lock

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

    /** Waits until all are over; false if they are not in time. */
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
