package outbox.benchmarks;

import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * The threads of a peer. They begin to work when its node starts. Tasks that are submitted earlier are dropped, as
 * if the process had crashed.
 */
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
