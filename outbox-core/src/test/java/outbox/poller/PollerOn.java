package outbox.poller;

import outbox.internal.Scheduler;

/** Lets a test of another package replace the scheduler of a poller. */
public final class PollerOn {

    private PollerOn() {}

    public static OutboxPoller.Builder scheduler(Scheduler scheduler, OutboxPoller.Builder builder) {
        builder.scheduler = scheduler;
        return builder;
    }
}
