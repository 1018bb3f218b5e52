package outbox.dispatch;

import outbox.internal.Scheduler;

/** Lets a test of another package replace the scheduler of a dispatcher. */
public final class DispatcherOn {

    private DispatcherOn() {}

    public static OutboxDispatcher.Builder scheduler(Scheduler scheduler, OutboxDispatcher.Builder builder) {
        builder.scheduler = scheduler;
        return builder;
    }
}
