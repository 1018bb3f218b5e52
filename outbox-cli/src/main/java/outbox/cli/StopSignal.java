package outbox.cli;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * Lets a command end between two batches after SIGINT or SIGTERM. The shutdown of the process waits until this object
 * is closed, so that the command can report its result first.
 */
final class StopSignal implements BooleanSupplier, AutoCloseable {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final CountDownLatch closed = new CountDownLatch(1);
    private final Thread hook = new Thread(this::stop, "outbox-stop");
    private volatile boolean told; // written by the shutdown hook

    StopSignal() {
        Runtime.getRuntime().addShutdownHook(hook);
    }

    private void stop() {
        told = true;
        try {
            if (!closed.await(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)) {
                System.err.println("The database did not answer; the audit record tells what was done.");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Whether the process was told to stop. */
    @Override
    public boolean getAsBoolean() {
        return told;
    }

    @Override
    public void close() {
        closed.countDown();
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The hook already runs.
        }
    }
}
