package outbox.spring.boot;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.SmartLifecycle;

/** Starts all outboxes when the beans are there, and stops them when web requests have ended and before pools close. */
final class OutboxLifecycle implements SmartLifecycle {

    /** Below the end of web requests, at the default phase less 1024, and that of the web server, less 2048: what has a lower phase starts earlier and stops later. */
    static final int PHASE = DEFAULT_PHASE - 4096;

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
        factory.stop();
        running = false;
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
