package outbox.cli;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * Lets a command end between two batches when the process is told to stop by SIGINT or SIGTERM. The end of the process
 * waits until the command has told what it did, which is when this is closed.
 */
final class StopSignal implements BooleanSupplier, AutoCloseable {

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final CountDownLatch closed = new CountDownLatch(1);
    private final Thread hook = new Thread(this::stop, "outbox-stop");
    private volatile boolean told; // by the hook

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
            // it runs
        }
    }
}
