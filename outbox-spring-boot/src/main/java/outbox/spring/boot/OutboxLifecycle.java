package outbox.spring.boot;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.SmartLifecycle;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Starts all outboxes when the beans are there, and stops them when web requests have ended and before pools close. Outboxes stop side by side, each within its time; what takes longer goes on
 * in the background, as far as the application lets it.
 */
final class OutboxLifecycle implements SmartLifecycle {

    /** Below the end of web requests, at the default phase less 1024, and that of the web server, less 2048: what has a lower phase starts earlier and stops later. */
    static final int PHASE = DEFAULT_PHASE - 4096;

    private static final Logger LOG = System.getLogger(OutboxLifecycle.class.getName());

    private final OutboxFactory factory;
    private final ObjectProvider<OutboxInstance> outboxes;
    private volatile boolean running; // the context's thread writes

    OutboxLifecycle(OutboxFactory factory, ObjectProvider<OutboxInstance> outboxes) {
        this.factory = factory;
        this.outboxes = outboxes;
    }

    @Override
    public void start() {
        running = true; // first: what started before another failed must be stopped
        outboxes.forEach(outbox -> {}); // all are made, even in an application that makes its beans when they are used
        factory.engines().forEach(OutboxEngine::start);
    }

    @Override
    public void stop() {
        List<CountDownLatch> ends = new ArrayList<>();
        Duration longest = Duration.ZERO;
        for (OutboxEngine engine : factory.engines()) {
            ends.add(inBackground(engine.name(), engine::stop));
            longest = longest.compareTo(engine.shutdownTimeout()) < 0 ? engine.shutdownTimeout() : longest;
        }
        await(ends, longest);
        running = false;
    }

    private static CountDownLatch inBackground(String name, Runnable step) {
        CountDownLatch end = new CountDownLatch(1);
        Thread thread = new Thread(
                () -> {
                    try {
                        step.run();
                    } catch (RuntimeException | Error e) {
                        LOG.log(Level.WARNING, "Outbox " + name + " did not stop in order", e);
                    } finally {
                        end.countDown();
                    }
                },
                "outbox-" + name + "-stop");
        thread.setDaemon(true);
        thread.start();
        return end;
    }

    private static void await(List<CountDownLatch> ends, Duration longest) {
        long deadline = System.nanoTime() + longest.toNanos();
        try {
            for (CountDownLatch end : ends) {
                if (!end.await(deadline - System.nanoTime(), TimeUnit.NANOSECONDS)) {
                    LOG.log(
                            Level.WARNING,
                            "The outbox has not stopped within {0}; what it still had at work comes again after its lease",
                            longest);
                    return;
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public boolean isRunning() {
        return running;
    }

    @Override
    public int getPhase() {
        return PHASE;
    }
}
