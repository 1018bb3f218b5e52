package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.internal.text.SafeLogger;

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
 * The worker threads of a dispatcher. A worker whose listener never ends is replaced by a new one. At
 * most {@code workerCount} replacements exist at a time: a listener that always hangs must not fill the
 * process with threads.
 */
final class WorkerPool implements Executor {

    private static final Logger LOG = SafeLogger.of(WorkerPool.class);

    private final int workerCount;
    private final DeliveryQueues queues;
    private volatile Worker.@Nullable Deliverer deliverer; // set by start
    private final ExecutorService threads;
    private final Set<Worker> workers = ConcurrentHashMap.newKeySet(); // includes replaced workers until they end
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

    /** Leaves the worker to its stuck run and starts another one, if the limit allows it. */
    void replace(Worker worker) {
        lock.lock();
        try {
            if (worker.isReplaced()) { // already replaced because of another event of the same batch
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
                            + " workers are left. Find out why the listeners neither return nor react to an "
                            + "interrupt.");
            return;
        }
        startWorker();
    }

    /**
     * Removes a worker that has ended. A replaced worker ends when its listener finally returns. If no new worker
     * could be started when it was replaced, one is started now.
     */
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

    /** Lets workers finish the queued events. Returns false if they did not finish within the given time. */
    boolean drain(Duration patience) throws InterruptedException {
        draining = true;
        queues.wakeAll(workers.size());
        return awaitEnd(patience);
    }

    /** Prevents workers from taking more events. */
    void stop() {
        stopped = true;
        queues.wakeAll(workers.size());
    }

    /** Runs a short task on a separate thread. */
    @Override
    public void execute(Runnable task) {
        threads.execute(task);
    }

    /** Starts no more threads. Running threads end by themselves. */
    void endThreads() {
        threads.shutdown();
    }

    /** Waits until no worker runs. Returns false if the given time is over first. */
    boolean awaitEnd(Duration patience) throws InterruptedException {
        long left = patience.toNanos();
        lock.lock();
        try {
            while (liveWorkers() > 0) {
                if (left <= 0) {
                    return false;
                }
                // Wake the workers again from time to time: one may have started to wait after the last wake-up.
                long waited = Math.min(left, TimeUnit.MILLISECONDS.toNanos(100));
                left -= waited - Math.max(0, someEnded.awaitNanos(waited));
                queues.wakeAll(workers.size());
            }
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** Whether the given thread is one of the workers. */
    boolean isWorkerThread(Thread thread) {
        return workers.stream().anyMatch(worker -> worker.runsOn(thread));
    }
}
