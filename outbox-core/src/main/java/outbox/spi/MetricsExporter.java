package outbox.spi;

import org.jspecify.annotations.Nullable;

import java.time.Duration;

/**
 * Receives what the engine counts. Called on its working threads: implementations are thread-safe, quick, and do not throw.
 *
 * <p>The methods with a body were added after the specification; they do nothing by default so that exporters written against it keep compiling.
 */
public interface MetricsExporter {

    MetricsExporter NOOP = new Noop();

    void incrementHotEnqueued();

    void incrementHotDropped();

    void incrementColdEnqueued();

    void incrementDispatchSuccess();

    void incrementDispatchFailure();

    void incrementDispatchDead();

    void recordQueueDepths(int hotDepth, int coldDepth);

    void recordOldestLagMs(long lagMs);

    /** The outcome of a run, or a claimed event that waited, was dropped because its claim had been lost. */
    default void incrementLostClaims() {}

    /** A listener ran past its time limit and did not end when interrupted. */
    default void incrementStuckListeners() {}

    /** Writing outcomes failed and will be tried again. */
    default void incrementMarkFailures() {}

    /** How many workers are able to take events. */
    default void recordLiveWorkers(int workers) {}

    /** The state of a circuit breaker on this node, every now and then: {@code CLOSED}, {@code OPEN} or {@code HALF_OPEN}. */
    default void recordBreaker(String breaker, String state) {}

    /** How many events run under a limit of this node, and how many wait in memory for it, every now and then. */
    default void recordLimit(String limit, int running, int waiting) {}

    /** How many pauses are in force, every now and then. */
    default void recordPauses(int pauses) {}

    /**
     * An event of this type was written, and its transaction has committed. Told by writers that are
     * {@link outbox.OutboxWriter#countedBy counted}; not where nobody can tell when the transaction commits, see
     * {@link TxContext.Visibility#NONE}.
     */
    default void recordEnqueued(String eventType) {}

    /**
     * A listener ran, and what became of it is in the database. Each attempt is told once, beside the methods without a type that count its outcome.
     *
     * @param delivered whether the event is DONE now; otherwise it is tried again, or DEAD
     * @param took how long the listener ran
     */
    default void recordDispatch(String eventType, boolean delivered, Duration took) {}

    /**
     * An event became DEAD, after a run or without one; told together with {@link #incrementDispatchDead}.
     *
     * @param eventType null if it is not known, as for events that expired in the table
     */
    default void recordDead(@Nullable String eventType) {}

    /** An event of this type was lost for want of memory: a store that was told to drop such events had no room for it, and its transaction has committed; or it was dead, and its room was needed. */
    default void recordDropped(String eventType) {}

    /** A reconcile job has written so many events that were missing, and their transaction has committed. */
    default void recordReconciled(String job, int events) {}

    /** A run of a reconcile job failed. */
    default void recordReconcileFailure(String job) {}

    /**
     * A poller could look at the table, or as a standby ask who leads. Also told when the poller starts: from then on
     * it has its time.
     */
    default void recordPoll() {}

    /** A batch of a purge was committed and has deleted so many events. Also told, with zero, when the purge starts. */
    default void recordPurged(int events) {}

    /** A purge failed, or a part of it; the next run tries again. */
    default void recordPurgeFailure() {}

    /** Discards everything. */
    final class Noop implements MetricsExporter {

        private Noop() {}

        @Override
        public void incrementHotEnqueued() {}

        @Override
        public void incrementHotDropped() {}

        @Override
        public void incrementColdEnqueued() {}

        @Override
        public void incrementDispatchSuccess() {}

        @Override
        public void incrementDispatchFailure() {}

        @Override
        public void incrementDispatchDead() {}

        @Override
        public void recordQueueDepths(int hotDepth, int coldDepth) {}

        @Override
        public void recordOldestLagMs(long lagMs) {}
    }
}
