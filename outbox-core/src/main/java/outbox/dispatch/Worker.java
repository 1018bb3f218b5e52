package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.spi.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;

/** Takes deliveries and runs them, one at a time, until its pool is drained or it is replaced. */
final class Worker implements Runnable {

    /** What the worker needs of its dispatcher. */
    interface Deliverer {
        /** Runs one delivery, and what can be run with it. Does not throw, whatever user code does. */
        void deliver(Worker worker, Delivery delivery);
    }

    private static final Logger LOG = SafeLogger.of(Worker.class);

    private final WorkerPool pool;
    private final DeliveryQueues queues;
    private final Deliverer deliverer;
    private volatile @Nullable Thread thread; // this worker writes once
    private volatile boolean replaced; // the keeper sets it when the current run is stuck

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
            if (delivery != null) { // else it was woken up
                deliverer.deliver(this, delivery);
            }
        } catch (InterruptedException e) {
            // The flag was left set by a listener or set by a stranger: a worker ends by its pool, not by an interrupt.
            LOG.log(Level.DEBUG, "Interrupt ignored", e);
        } catch (Throwable e) {
            LOG.log(Level.ERROR, "A worker failed outside a listener; it goes on", e);
        } finally {
            Thread.interrupted(); // whatever the run left behind must not hit the next one
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
