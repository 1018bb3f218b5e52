package outbox.spring.boot.internal;

import outbox.internal.text.SafeLogger;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Runs the steps of a stop in parallel, so that their times do not add up. Thread-safe. */
final class SideBySide {

    private static final Logger LOG = SafeLogger.of(SideBySide.class);

    private final List<CountDownLatch> ends = new ArrayList<>(); // guarded by this

    /** Begins a step on a new daemon thread. */
    synchronized void begin(String name, Runnable step) {
        CountDownLatch end = new CountDownLatch(1);
        Thread thread = new Thread(() -> run(name, step, end), "outbox-" + name + "-stop");
        thread.setDaemon(true);
        thread.start();
        ends.add(end);
    }

    private static void run(String name, Runnable step, CountDownLatch end) {
        try {
            step.run();
        } catch (RuntimeException | Error e) {
            LOG.log(Level.WARNING, "Outbox " + name + " did not stop in order", e);
        } finally {
            end.countDown();
        }
    }

    /**
     * Waits for all steps that were begun since the last wait. Returns false if the time limit passes first. The
     * remaining steps then continue in the background.
     */
    boolean await(Duration limit) {
        long deadline = System.nanoTime() + limit.toNanos();
        try {
            for (CountDownLatch end : begun()) {
                if (!end.await(deadline - System.nanoTime(), TimeUnit.NANOSECONDS)) {
                    return false;
                }
            }
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private synchronized List<CountDownLatch> begun() {
        List<CountDownLatch> begun = List.copyOf(ends);
        ends.clear();
        return begun;
    }
}
