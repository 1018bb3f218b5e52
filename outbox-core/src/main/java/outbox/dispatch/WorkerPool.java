package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.spi.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The worker threads of a dispatcher. A worker whose listener never ends is replaced by a new one, at most {@code workerCount} times at a time: a listener that always hangs
 * must not fill the process with threads.
 */
final class WorkerPool implements Executor {

    private static final Logger LOG = SafeLogger.of(WorkerPool.class);

    private final int workerCount;
    private final DeliveryQueues queues;
    private volatile Worker.@Nullable Deliverer deliverer; // set by start
    private final ExecutorService threads;
    private final Set<Worker> workers = ConcurrentHashMap.newKeySet(); // also the replaced ones, until they end
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition someEnded = lock.newCondition();
    private volatile boolean draining;
    private volatile boolean stopped;

    WorkerPool(ThreadFactory factory, int workerCount, DeliveryQueues queues) {
        this.workerCount = workerCount;
        this.queues = queues;
        this.threads = Executors.newCachedThreadPool(factory);
    }

    void start(Worker.Deliverer run) {
        deliverer = run;
        for (int i = 0; i < workerCount; i++) {
            startWorker();
        }
    }

    private void startWorker() {
        Worker worker = new Worker(this, queues, Objects.requireNonNull(deliverer));
        workers.add(worker);
        threads.execute(worker);
    }

    int workerCount() {
        return workerCount;
    }

    int liveWorkers() {
        return (int) workers.stream().filter(worker -> !worker.isReplaced()).count();
    }

    /** Leaves the worker to its stuck run and starts another in its place, if the bound allows. */
    void replace(Worker worker) {
        lock.lock();
        try {
            if (worker.isReplaced()) { // for another event of the same call
                return;
            }
            worker.replace();
            if (!stopped && !draining) {
                startUnlessTooManyAreStuck();
            }
        } finally {
            lock.unlock();
        }
    }

    private void startUnlessTooManyAreStuck() {
        long stuck = workers.stream().filter(Worker::isReplaced).count();
        if (stuck > workerCount) {
            LOG.log(
                    Level.ERROR,
                    stuck + " listeners are stuck; no more threads are started for them, so " + liveWorkers() + " of "
                            + workerCount
                            + " workers are left. Find out why the listeners neither return nor react to an interrupt.");
            return;
        }
        startWorker();
    }

    /** A worker that was replaced ends when its listener returns at last; if it had got no substitute, it gets one now. */
    void ended(Worker worker) {
        lock.lock();
        try {
            workers.remove(worker);
            if (!stopped && !draining && liveWorkers() < workerCount) {
                startWorker();
            }
            someEnded.signalAll();
        } finally {
            lock.unlock();
        }
    }

    boolean isDraining() {
        return draining;
    }

    boolean isStopped() {
        return stopped;
    }

    /** Lets workers finish what is queued; false if they did not within the given time. */
    boolean drain(Duration patience) throws InterruptedException {
        draining = true;
        queues.wakeAll(workers.size());
        return awaitEnd(patience);
    }

    /** Lets no worker take another event. */
    void stop() {
        stopped = true;
        queues.wakeAll(workers.size());
    }

    /** Runs something short on a thread of its own. */
    @Override
    public void execute(Runnable task) {
        threads.execute(task);
    }

    /** No more threads are started; those that run end by themselves. */
    void endThreads() {
        threads.shutdown();
    }

    /** Whether no worker runs any more, now or within the given time. */
    boolean awaitEnd(Duration patience) throws InterruptedException {
        long left = patience.toNanos();
        lock.lock();
        try {
            while (liveWorkers() > 0) {
                if (left <= 0) {
                    return false;
                }
                // Looks up now and then: a worker that was about to wait when it was woken sees the state by itself.
                long waited = Math.min(left, TimeUnit.MILLISECONDS.toNanos(100));
                left -= waited - Math.max(0, someEnded.awaitNanos(waited));
                queues.wakeAll(workers.size());
            }
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** Whether the current thread is one of the workers. */
    boolean isWorkerThread(Thread thread) {
        return workers.stream().anyMatch(worker -> worker.runsOn(thread));
    }
}
