package outbox.spi;

import org.jspecify.annotations.Nullable;

import java.time.Duration;

/**
 * Receives the metrics of the engine. The engine calls it on its worker threads. Implementations must be thread-safe
 * and fast, and must not throw.
 *
 * <p>The methods with a body were added after the specification. They do nothing by default, so that exporters
 * written for the specification still compile.
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

    /** A claim was lost, so the outcome of a delivery or a claimed event that was waiting was dropped. */
    default void incrementLostClaims() {}

    /** A listener exceeded its time limit and did not end when it was interrupted. */
    default void incrementStuckListeners() {}

    /** Writing outcomes failed; it will be retried. */
    default void incrementMarkFailures() {}

    /** The number of workers that can take events. */
    default void recordLiveWorkers(int workers) {}

    /**
     * The state of a circuit breaker on this node, reported periodically: {@code CLOSED}, {@code OPEN} or
     * {@code HALF_OPEN}.
     */
    default void recordBreaker(String breaker, String state) {}

    /**
     * The number of events that run under a limit of this node, and the number that wait for it in memory.
     * Reported periodically.
     */
    default void recordLimit(String limit, int running, int waiting) {}

    /** The number of active pauses, reported periodically. */
    default void recordPauses(int pauses) {}

    /**
     * An event of this type was written and its transaction has committed. Reported by writers that are
     * {@link outbox.OutboxWriter#countedBy counted}. Not reported if the commit cannot be observed, see
     * {@link TxContext.Visibility#NONE}.
     */
    default void recordEnqueued(String eventType) {}

    /**
     * A listener ran and its outcome is stored in the database. Reported once per attempt, in addition to the
     * methods without a type that count the outcome.
     *
     * @param delivered whether the event is now DONE; otherwise it will be retried or is DEAD
     * @param took how long the listener ran
     */
    default void recordDispatch(String eventType, boolean delivered, Duration took) {}

    /**
     * An event became DEAD, with or without a delivery. Reported together with {@link #incrementDispatchDead}.
     *
     * @param eventType null if not known, for example for events that expired in the table
     */
    default void recordDead(@Nullable String eventType) {}

    /**
     * An event of this type was lost because memory was full. Either a store that is configured to drop such events
     * had no space for it and its transaction has committed, or the event was dead and its space was needed.
     */
    default void recordDropped(String eventType) {}

    /** A reconcile job wrote this number of missing events, and their transaction has committed. */
    default void recordReconciled(String job, int events) {}

    /** A run of a reconcile job failed. */
    default void recordReconcileFailure(String job) {}

    /**
     * A poller was able to read the table, or, as a standby, to check which node leads. Also reported when the
     * poller starts, so that monitoring measures the time from the start.
     */
    default void recordPoll() {}

    /**
     * A purge committed a batch that deleted this number of events. Also reported, with zero, when the purge starts.
     */
    default void recordPurged(int events) {}

    /** A purge failed completely or in part. The next run tries again. */
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
