package outbox.benchmarks;

import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/** Threads of a peer that start to work when its node starts; what it gets before is forgotten, as if the process had died. */
final class GatedExecutor implements Executor, AutoCloseable {
    private final ExecutorService threads;
    private volatile boolean open;

    GatedExecutor(int size) {
        threads = Executors.newFixedThreadPool(size);
    }

    void open() {
        open = true;
    }

    @Override
    public void execute(Runnable task) {
        if (!open) {
            return;
        }
        try {
            threads.execute(task);
        } catch (RejectedExecutionException e) {
            // closed: the measurement is over
        }
    }

    @Override
    public void close() {
        open = false;
        threads.shutdownNow();
        try {
            threads.awaitTermination(5, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
