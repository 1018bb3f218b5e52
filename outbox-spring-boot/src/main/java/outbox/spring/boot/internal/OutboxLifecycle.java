package outbox.spring.boot.internal;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.SmartLifecycle;
import outbox.spring.boot.OutboxInstance;

/**
 * Starts all outboxes after the beans were created. Stops them after web requests have ended and before connection
 * pools close.
 */
public final class OutboxLifecycle implements SmartLifecycle {

    /**
     * Lower than the phase of the graceful shutdown of web requests (default phase minus 1024) and that of the web
     * server (default phase minus 2048). A component with a lower phase starts earlier and stops later.
     */
    public static final int PHASE = DEFAULT_PHASE - 4096;

    private final OutboxFactory factory;
    private final ObjectProvider<OutboxInstance> outboxes;
    private volatile boolean running; // written by the lifecycle thread of the context, read by any thread

    public OutboxLifecycle(OutboxFactory factory, ObjectProvider<OutboxInstance> outboxes) {
        this.factory = factory;
        this.outboxes = outboxes;
    }

    @Override
    public void start() {
        running = true; // set first: if one outbox fails to start, the others must be stopped
        outboxes.forEach(outbox -> {}); // creates all outboxes, even with lazy initialization
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
