package outbox.purge;

import outbox.internal.Scheduler;

/** Lets a test of another package replace the scheduler of a purge. */
public final class PurgeOn {

    private PurgeOn() {}

    public static OutboxPurge.Builder scheduler(Scheduler scheduler, OutboxPurge.Builder builder) {
        builder.scheduler = scheduler;
        return builder;
    }
}
