package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.internal.text.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;

/** Takes deliveries and runs them, one at a time, until its pool is drained or the worker is replaced. */
final class Worker implements Runnable {

    /** Runs the deliveries that a worker has taken. */
    interface Deliverer {
        /** Runs one delivery and the deliveries that can run with it. Does not throw, even if user code fails. */
        void deliver(Worker worker, Delivery delivery);
    }

    private static final Logger LOG = SafeLogger.of(Worker.class);

    private final WorkerPool pool;
    private final DeliveryQueues queues;
    private final Deliverer deliverer;
    private volatile @Nullable Thread thread; // this worker writes it once
    private volatile boolean replaced; // the keeper thread sets it when the current run is stuck

    Worker(WorkerPool pool, DeliveryQueues queues, Deliverer deliverer) {
        this.pool = pool;
        this.queues = queues;
        this.deliverer = deliverer;
    }

    @Override
    public void run() {
        thread = Thread.currentThread();
        try {
            while (!replaced && !(pool.isDraining() && queues.isEmpty()) && !pool.isStopped()) {
                runNext();
            }
        } finally {
            pool.ended(this);
        }
    }

    private void runNext() {
        try {
            Delivery delivery = queues.take();
            if (delivery != null) { // null if the worker was woken
                deliverer.deliver(this, delivery);
            }
        } catch (InterruptedException e) {
            // A listener or another thread has set the flag. Only the pool ends a worker, not an interrupt.
            LOG.log(Level.DEBUG, "Interrupt ignored", e);
        } catch (Throwable e) {
            LOG.log(Level.ERROR, "A worker failed outside a listener; it goes on", e);
        } finally {
            Thread.interrupted(); // an interrupt flag left by this run must not affect the next one
        }
    }

    boolean runsOn(Thread candidate) {
        return thread == candidate;
    }

    void replace() {
        replaced = true;
    }

    boolean isReplaced() {
        return replaced;
    }
}
